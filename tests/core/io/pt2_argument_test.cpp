// SPDX-License-Identifier: Apache-2.0
// Every kind of argument of torch._export.serde.schema, and the text torch.fx prints for it.
#include "core/io/pt2/pt2_argument.h"
#include "pt2_support.h"

namespace fusescope {
namespace {

const pt2::Scope kScope{
    {"x", ValueId(std::size_t{4})}, {"y", ValueId(std::size_t{5})}, {"s0", ValueId(std::size_t{6})}};

pt2::Argument argument(const std::string& text) {
    simdjson::dom::parser parser;
    pt2::Json root;
    EXPECT_EQ(parser.parse(test::json(text)).get(root), simdjson::SUCCESS) << text;
    return pt2::argumentOf(root, kScope);
}

struct Case {
    const char *json, *text;
    ArgKind kind;
};

TEST(Pt2Argument, TextAndKind) {
    for (const Case& c : {
             Case{"{'as_none':true}", "None", ArgKind::None},
             Case{"{'as_int':-1}", "-1", ArgKind::Scalar},
             Case{"{'as_int':9223372036854775807}", "9223372036854775807", ArgKind::Scalar},
             Case{"{'as_ints':[1,-1,4096]}", "[1, -1, 4096]", ArgKind::ScalarList},
             Case{"{'as_ints':[]}", "[]", ArgKind::ScalarList},
             Case{"{'as_float':1e-06}", "1e-06", ArgKind::Scalar},
             Case{"{'as_float':1.0}", "1.0", ArgKind::Scalar},
             Case{"{'as_float':1}", "1", ArgKind::Scalar},
             Case{"{'as_float':0.08838834764831845}", "0.08838834764831845", ArgKind::Scalar},
             Case{"{'as_float':-3.3895313892515355e+38}", "-3.3895313892515355e+38", ArgKind::Scalar},
             Case{"{'as_float':10000.0}", "10000.0", ArgKind::Scalar},
             Case{"{'as_float':0.0001}", "0.0001", ArgKind::Scalar},
             Case{"{'as_float':1e16}", "1e+16", ArgKind::Scalar},
             Case{"{'as_float':'-Infinity'}", "-inf", ArgKind::Scalar},
             Case{"{'as_float':'Infinity'}", "inf", ArgKind::Scalar},
             Case{"{'as_floats':[0.5,'NaN']}", "[0.5, nan]", ArgKind::ScalarList},
             Case{"{'as_bool':false}", "False", ArgKind::Scalar},
             Case{"{'as_bools':[true,false]}", "[True, False]", ArgKind::ScalarList},
             Case{"{'as_string':'none'}", "none", ArgKind::Text},
             Case{"{'as_strings':['a','b']}", "[a, b]", ArgKind::Text},
             Case{"{'as_scalar_type':13}", "torch.bfloat16", ArgKind::Text},
             Case{"{'as_scalar_type':7}", "torch.float32", ArgKind::Text},
             Case{"{'as_scalar_type':99}", "torch.dtype(99)", ArgKind::Text},
             Case{"{'as_layout':7}", "torch.strided", ArgKind::Text},
             Case{"{'as_memory_format':1}", "torch.contiguous_format", ArgKind::Text},
             Case{"{'as_device':{'type':'cuda','index':0}}", "cuda:0", ArgKind::Text},
             Case{"{'as_device':{'type':'meta','index':null}}", "meta", ArgKind::Text},
             Case{"{'as_complex':{'real':1.0,'imag':-2.0}}", "(1.0-2.0j)", ArgKind::Scalar},
             Case{"{'as_int_lists':[[1,2],[3]]}", "[[1, 2], [3]]", ArgKind::ScalarList},
             Case{"{'as_operator':'torch.ops.aten.add.Tensor'}", "torch.ops.aten.add.Tensor", ArgKind::Text},
             Case{"{'as_sym_int':{'as_int':5}}", "5", ArgKind::Scalar},
             Case{"{'as_sym_bool':{'as_bool':true}}", "True", ArgKind::Scalar},
             Case{"{'as_something_new':{'a':1}}", "as_something_new", ArgKind::Text},
             Case{"{'entirely':'else'}", "entirely", ArgKind::Text},
             Case{"{'as_string_to_argument':{'k':{'as_int':1},'l':{'as_none':true}}}", "{k: 1, l: None}",
                  ArgKind::Text},
         }) {
        const pt2::Argument got = argument(c.json);
        EXPECT_EQ(got.text, c.text) << c.json;
        EXPECT_EQ(got.kind, c.kind) << c.json;
        EXPECT_TRUE(got.values.empty()) << c.json;
    }
}

TEST(Pt2Argument, Tensors) {
    EXPECT_EQ(argument("{'as_tensor':{'name':'x'}}").kind, ArgKind::Tensor);
    EXPECT_EQ(argument("{'as_tensor':{'name':'x'}}").values.front(), ValueId(std::size_t{4}));
    const pt2::Argument list = argument("{'as_tensors':[{'name':'x'},{'name':'y'}]}");
    EXPECT_EQ(list.kind, ArgKind::TensorList);
    EXPECT_EQ(list.values.size(), 2u);
    const pt2::Argument holes = argument("{'as_optional_tensors':[{'as_none':true},{'as_tensor':{'name':'y'}}]}");
    EXPECT_EQ(holes.kind, ArgKind::TensorList);
    EXPECT_EQ(holes.text, "[None, %y]");
    EXPECT_EQ(holes.values.size(), 1u);
    EXPECT_EQ(argument("{'as_optional_tensor':{'as_tensor':{'name':'x'}}}").kind, ArgKind::Tensor);
    EXPECT_EQ(argument("{'as_optional_tensor':{'as_none':true}}").kind, ArgKind::None);
    EXPECT_EQ(argument("{'as_nested_tensors':[[{'name':'x'}],[{'name':'y'}]]}").values.size(), 2u);
    EXPECT_EQ(argument("{'as_string_to_argument':{'q':{'as_tensor':{'name':'x'}}}}").kind, ArgKind::TensorList);
}

TEST(Pt2Argument, UnknownNamesAreCounted) {
    const pt2::Argument lost = argument("{'as_tensor':{'name':'nobody'}}");
    EXPECT_EQ(lost.unknown_names, 1u);
    EXPECT_EQ(lost.text, "%nobody");
    EXPECT_EQ(lost.kind, ArgKind::Text); // not a tensor without a value
}

TEST(Pt2Argument, Symbols) {
    const pt2::Argument sizes = argument("{'as_sym_ints':[{'as_name':'s0'},{'as_int':4}]}");
    EXPECT_EQ(sizes.text, "[%s0, 4]");
    EXPECT_EQ(sizes.kind, ArgKind::ScalarList);
    ASSERT_EQ(sizes.values.size(), 1u);
    EXPECT_EQ(sizes.values[0], ValueId(std::size_t{6}));
}

TEST(Pt2Argument, OlderSpellings) {
    EXPECT_EQ(argument("{'$type':'as_int','$value':3}").text, "3");
    EXPECT_EQ(argument("{'type':'as_int','value':3}").text, "3");
    EXPECT_EQ(argument("{'as_tensor':null,'as_int':3,'as_none':null}").text, "3");
    EXPECT_EQ(argument("{'as_tensor':null,'as_none':null}").text, "None");
}

TEST(Pt2Argument, OddValuesAreForgiven) {
    for (const char* odd :
         {"{}", "[]", "3", "null", "'text'", "{'as_tensor':3}", "{'as_tensors':{'name':'x'}}", "{'as_ints':3}",
          "{'as_device':7}", "{'as_complex':[]}", "{'as_sym_ints':[[[]]]}", "{'as_tensors':[[]]}",
          "{'as_nested_tensors':[[[[]]]]}", "{'as_optional_tensors':[{},{'as_tensor':{}}]}"})
        (void)argument(odd);
    std::string deep = "{'as_int':1}";
    for (int i = 0; i < 60; ++i) deep = "{'as_string_to_argument':{'k':" + deep + "}}";
    EXPECT_LT(argument(deep).text.size(), 200u);
}

TEST(Pt2Argument, LongListsAreCut) {
    std::string many = "{'as_ints':[0";
    for (int i = 0; i < 100000; ++i) many += ",1";
    EXPECT_LT(argument(many + "]}").text.size(), 5000u);
}

TEST(Pt2Json, ExportNumbersAreNotC10Numbers) { // c10 calls 6 float and 15 bfloat16
    simdjson::dom::parser parser;
    pt2::Json root;
    ASSERT_EQ(
        parser
            .parse(std::string(
                "{\"dtype\":6,\"sizes\":[{\"as_int\":2},7,{\"as_expr\":{\"expr_str\":\"s0\",\"hint\":{\"as_int\":5}}},"
                "{\"as_expr\":{\"expr_str\":\"s1\",\"hint\":null}}],\"requires_grad\":true}"))
            .get(root),
        simdjson::SUCCESS);
    const TensorMeta meta = pt2::tensorMeta(root);
    EXPECT_EQ(meta.dtype, DType::Float16);
    EXPECT_EQ(meta.sizes, (std::vector<std::int64_t>{2, 7, 5, kDynamicSize}));
    EXPECT_TRUE(meta.strides.empty());
    EXPECT_TRUE(meta.requires_grad);
}

} // namespace
} // namespace fusescope
