// SPDX-License-Identifier: Apache-2.0
// Small archives made on the spot.
#pragma once

#include "core/io/pt2/pt2_reader.h"

#include <gtest/gtest.h>
#include <zip.h>

#include <string>
#include <utility>
#include <vector>

namespace fusescope::test {

using Files = std::vector<std::pair<std::string, std::string>>; // name, content

// The bytes of a ZIP archive.
inline std::string zipOf(const Files& files, bool stored = false) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* target = zip_source_buffer_create(nullptr, 0, 0, &error);
    zip_t* zip = zip_open_from_source(target, ZIP_CREATE | ZIP_TRUNCATE, &error);
    zip_source_keep(target);
    for (const auto& [name, content] : files) {
        zip_source_t* source = zip_source_buffer(zip, content.data(), content.size(), 0);
        const zip_int64_t index = zip_file_add(zip, name.c_str(), source, ZIP_FL_ENC_UTF_8);
        if (stored) zip_set_file_compression(zip, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);
    }
    EXPECT_EQ(zip_close(zip), 0);
    zip_stat_t stat;
    zip_source_stat(target, &stat);
    std::string bytes(stat.size, '\0');
    zip_source_open(target);
    EXPECT_EQ(zip_source_read(target, bytes.data(), bytes.size()), static_cast<zip_int64_t>(bytes.size()));
    zip_source_close(target);
    zip_source_free(target);
    zip_error_fini(&error);
    return bytes;
}

// JSON with ' for ".
inline std::string json(std::string text) {
    for (char& c : text)
        if (c == '\'') c = '"';
    return text;
}

// A tensor value of an exported graph.
inline std::string value(const std::string& name, const std::string& sizes = "[{'as_int':2},{'as_int':3}]",
                         int dtype = 7) {
    return "'" + name + "':{'dtype':" + std::to_string(dtype) + ",'sizes':" + sizes +
           ",'requires_grad':false,'device':{'type':'cuda','index':0},'strides':[{'as_int':3},{'as_int':1}],"
           "'storage_offset':{'as_int':0},'layout':7}";
}

struct Program {
    std::string nodes, values, inputs = "{'as_tensor':{'name':'x'}}", outputs = "{'as_tensor':{'name':'y'}}", specs,
                               extra, calls;
    [[nodiscard]] std::string text(const std::string& version = "{'major':8,'minor':17}") const {
        return json("{'graph_module':{'graph':{'inputs':[" + inputs + "],'outputs':[" + outputs + "],'nodes':[" +
                    nodes + "],'tensor_values':{" + values + "},'sym_int_values':{}},'signature':{'input_specs':[" +
                    specs + "],'output_specs':[]},'module_call_graph':[" + calls + "]},'schema_version':" + version +
                    ",'torch_version':'2.9.1'" + extra + "}");
    }
};

// y = relu(x), twice over: the smallest program
inline Program relu() {
    Program p;
    p.nodes =
        "{'target':'torch.ops.aten.relu.default','inputs':[{'name':'self','arg':{'as_tensor':{'name':'x'}},'kind':1}],"
        "'outputs':[{'as_tensor':{'name':'y'}}],'metadata':{'nn_module_stack':'L__self__,,m.Net;L__self___act,act,"
        "torch.nn.ReLU',"
        "'stack_trace':'File \\'net.py\\', line 5, in forward\\n    y = self.act(x)'},'name':'y'}";
    p.values = value("x") + "," + value("y");
    return p;
}

inline Result<GraphPtr> readFiles(const Files& files) { return readPt2Memory(zipOf(files)); }
inline Result<GraphPtr> readProgram(const Program& program) {
    return readFiles({{"net/models/model.json", program.text()}});
}

// The graph of a program that must be readable.
inline GraphPtr graphOf(const Program& program) {
    const Result<GraphPtr> graph = readProgram(program);
    EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().message());
    return graph.ok() ? *graph : std::make_shared<const ModelGraph>();
}

} // namespace fusescope::test
