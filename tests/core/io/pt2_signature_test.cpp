// SPDX-License-Identifier: Apache-2.0
#include "core/io/pt2/pt2_signature.h"

#include "pt2_support.h"

#include <string>

namespace fusescope {
namespace {

// "path:type path:type"
std::string frames(std::string_view text) {
    std::string all;
    for (const ModuleFrame& frame : pt2::splitModuleStack(text))
        all.append(all.empty() ? "" : " ").append(frame.path).append(":").append(frame.type_fqn);
    return all;
}

TEST(Pt2ModuleStack, Spellings) {
    EXPECT_EQ(frames(""), "");
    EXPECT_EQ(frames("L__self__,,m.Net;L__self__model,model,m.Model"), ":m.Net model:m.Model");
    EXPECT_EQ(frames("140489085326576,gate_proj,torch.nn.modules.linear.Linear"),
              "gate_proj:torch.nn.modules.linear.Linear"); // strict
    EXPECT_EQ(frames("getattr(L['self'].layers, '0'),L['self'].layers.0,m.Layer"),
              "L['self'].layers.0:m.Layer"); // pytorch#126063
    EXPECT_EQ(frames("f(a;b),x,T;g[1,2;3],y,U"), "x:T y:U");
    EXPECT_EQ(frames("model,Type"), "model:Type");
    EXPECT_EQ(frames("nothing"), "");
    EXPECT_EQ(frames(";;;"), "");
    EXPECT_EQ(frames("a,b,C;"), "b:C");
    EXPECT_EQ(frames("))),x,T"), "x:T");
    EXPECT_EQ(frames("_empty_nn_module_stack_from_metadata_hook,_empty_nn_module_stack_from_metadata_hook,"
                     "_empty_nn_module_stack_from_metadata_hook"),
              "");
}

TEST(Pt2ModuleStack, IsBounded) {
    std::string many;
    for (int i = 0; i < 10000; ++i) many += "k,p,T;";
    EXPECT_LE(pt2::splitModuleStack(many).size(), 64u);
}

TEST(Pt2Signature, Roles) {
    simdjson::dom::parser parser;
    pt2::Json root;
    ASSERT_EQ(
        parser
            .parse(test::json("{'input_specs':[{'parameter':{'arg':{'name':'p_w'},'parameter_name':'fc.weight'}},"
                              "{'buffer':{'arg':{'name':'b_f'},'buffer_name':'rope.inv_freq','persistent':false}},"
                              "{'tensor_constant':{'arg':{'name':'c_0'},'tensor_constant_name':'lifted'}},"
                              "{'$type':'user_input','$value':{'arg':{'as_tensor':{'name':'x'}}}},{'nonsense':3},7]}"))
            .get(root),
        simdjson::SUCCESS);
    pt2::Roles roles = pt2::readRoles(root);
    EXPECT_EQ(roles["p_w"].kind, ValueKind::Parameter);
    EXPECT_EQ(roles["p_w"].qualified_name, "fc.weight");
    EXPECT_EQ(roles["b_f"].kind, ValueKind::Buffer);
    EXPECT_EQ(roles["c_0"].kind, ValueKind::Constant);
    EXPECT_EQ(roles["x"].kind, ValueKind::Input);
}

TEST(Pt2Signature, Torch21) {
    simdjson::dom::parser parser;
    pt2::Json root;
    ASSERT_EQ(
        parser.parse(test::json("{'inputs_to_parameters':{'arg0_1':'fc.weight'},'inputs_to_buffers':{'arg1_1':'b'}}"))
            .get(root),
        simdjson::SUCCESS);
    pt2::Roles roles = pt2::readRoles(root);
    EXPECT_EQ(roles["arg0_1"].kind, ValueKind::Parameter);
    EXPECT_EQ(roles["arg1_1"].qualified_name, "b");
}

} // namespace
} // namespace fusescope
