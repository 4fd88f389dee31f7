// SPDX-License-Identifier: GPL-3.0-or-later
#include "torchscript.h"

#include "core/base/json_writer.h"
#include "core/ipc/child_process.h"
#include "line_io.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/serialization/import.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <future>
#include <memory>
#include <thread>

namespace fusescope::runner {
namespace {

constexpr int kWallMs = 60'000;
constexpr rlim_t kMemory = rlim_t{32} << 30, kCpuSeconds = 60, kFile = rlim_t{1} << 30;
constexpr std::size_t kMostNodes = 2'000'000, kMostAnswer = 4096;

void limit(__rlimit_resource what, rlim_t most) {
    const rlimit both{most, most};
    (void)setrlimit(what, &both);
}

// Values are known by their debug names, which are unique in a graph.
class GraphWriter {
public:
    explicit GraphWriter(JsonWriter& json) : json_(json) {}

    void write(const torch::jit::Block& block) {
        json_.beginObject();
        values("inputs", block.inputs());
        json_.key("nodes").beginArray();
        for (const torch::jit::Node* node : block.nodes()) write(*node);
        json_.endArray();
        values("outputs", block.outputs());
        json_.endObject();
    }

private:
    void values(const char* key, c10::ArrayRef<const torch::jit::Value*> list) {
        json_.key(key).beginArray();
        for (const torch::jit::Value* value : list)
            json_.beginObject().member("name", value->debugName()).member("type", value->type()->str()).endObject();
        json_.endArray();
    }

    void write(const torch::jit::Node& node) {
        if (++nodes_ > kMostNodes) throw Failed("unsupported", "expected at most 2,000,000 nodes, found more");
        json_.beginObject().member("kind", std::string(node.kind().toQualString()));
        json_.member("scope", node.scopeName());
        values("inputs", node.inputs());
        values("outputs", node.outputs());
        json_.key("attributes").beginObject();
        for (const auto& name : node.attributeNames()) {
            json_.key(name.toUnqualString());
            switch (node.kindOf(name)) {
            case torch::jit::AttributeKind::i: json_.value(std::int64_t{node.i(name)}); break;
            case torch::jit::AttributeKind::f: json_.value(node.f(name)); break;
            case torch::jit::AttributeKind::s: json_.value(node.s(name)); break;
            default: json_.null(); break; // tensors and lists: what they hold is not needed to draw a graph
            }
        }
        json_.endObject().key("blocks").beginArray();
        for (const torch::jit::Block* block : node.blocks()) write(*block);
        json_.endArray().endObject();
    }

    JsonWriter& json_;
    std::size_t nodes_ = 0;
};

} // namespace

TorchscriptResult loadTorchscript(const LoadTorchscriptRequest& request, const Job& job) {
    if (!request.run_code)
        throw Failed("bad_request",
                     "expected the user's consent (run_code): loading a TorchScript file can run its code");
    if (request.path.empty() || request.path.front() == '-')
        throw Failed("bad_request", "expected the path of a TorchScript file");
    job.progress("loading in a process of its own", -1);
    const char* folder = std::getenv("TMPDIR");
    std::string out = std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/fusescope-graph-XXXXXX";
    const int fd = mkostemp(out.data(), O_CLOEXEC);
    if (fd < 0) throw Failed("internal", "expected to write " + out + ", found no way to");
    close(fd);
    // The other process cannot be told to stop; who cancels does not wait for it.
    auto answer = std::make_shared<std::promise<Result<std::string>>>();
    std::future<Result<std::string>> done = answer->get_future();
    auto wanted = std::make_shared<std::atomic<bool>>(true);
    std::thread([answer, wanted, path = request.path, out] {
        answer->set_value(runChild({"/proc/self/exe", "--load-torchscript", path, out}, {}, kWallMs, kMostAnswer));
        if (!*wanted) (void)unlink(out.c_str());
    }).detach();
    try {
        while (done.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) job.check();
    } catch (...) {
        *wanted = false;
        (void)unlink(out.c_str());
        throw;
    }
    const Result<std::string> said = done.get();
    if (said && said->empty()) return {out};
    (void)unlink(out.c_str());
    throw Failed("unsupported", said ? *said : said.error().message());
}

int loadTorchscriptHere(const char* path, const char* out, int answer_fd) {
    limit(RLIMIT_AS, kMemory);
    limit(RLIMIT_CPU, kCpuSeconds);
    limit(RLIMIT_FSIZE, kFile);
    LineWriter answer(answer_fd);
    try {
        const torch::jit::Module module = torch::jit::load(path, c10::Device(c10::DeviceType::CPU));
        const std::shared_ptr<torch::jit::Graph> graph = module.get_method("forward").graph()->copy();
        torch::jit::Inline(*graph);
        JsonWriter json;
        json.beginObject().member("schema", "fusescope.torchscript/1");
        json.member("class", module.type()->name() ? module.type()->name()->qualifiedName() : "").key("graph");
        GraphWriter(json).write(*graph->block());
        json.endObject();
        std::ofstream file(out, std::ios::binary | std::ios::trunc);
        file << json.text();
        if (file.flush()) return 0;
        (void)answer.write("expected to write the graph, found a full disk or too large a graph");
    } catch (const c10::Error& e) {
        (void)answer.write(std::string(e.what_without_backtrace()).substr(0, kMostAnswer - 1));
    } catch (const std::exception& e) {
        (void)answer.write(std::string(e.what()).substr(0, kMostAnswer - 1));
    }
    return 0; // the text is the answer
}

} // namespace fusescope::runner
