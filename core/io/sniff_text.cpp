// SPDX-License-Identifier: Apache-2.0
#include "core/io/sniff_text.h"

#include "core/io/chrome/root_scanner.h"

#include <algorithm>
#include <set>
#include <string>

namespace fusescope {
namespace {

bool startsWith(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

struct Magic {
    std::string_view bytes, what;
};
// What profilers, browsers and people put traces into, by first bytes, with what to do about it.
constexpr Magic kPacked[] = {
    {"\x28\xB5\x2F\xFD", "zstd data: unpack it first (zstd -d)"},
    {{"\xFD"
      "7zXZ\0",
      6},
     "xz data: unpack it first (xz -d)"},
    {"BZh", "bzip2 data: unpack it first (bzip2 -d)"},
    {"\x04\x22\x4D\x18", "lz4 data: unpack it first (lz4 -d)"},
    {"7z\xBC\xAF\x27\x1C", "a 7z archive: unpack it first"},
    {"\x1F\x8B", "gzip data: unpack it once more (gzip -d)"}, // the outer layer is read as it is
    {"PK\x03\x04", "a ZIP archive: unpack the gzip data first (gzip -d)"},
    {{"\xFF\xFE\0\0", 4}, "UTF-32 text: save it as UTF-8"},
    {{"\0\0\xFE\xFF", 4}, "UTF-32 text: save it as UTF-8"},
    {"\xFF\xFE", "UTF-16 text: save it as UTF-8"},
    {"\xFE\xFF", "UTF-16 text: save it as UTF-8"},
    {{"{\0\0\0", 4}, "UTF-32 text: save it as UTF-8"},
    {{"\0\0\0{", 4}, "UTF-32 text: save it as UTF-8"},
    {{"{\0", 2}, "UTF-16 text: save it as UTF-8"},
    {{"[\0", 2}, "UTF-16 text: save it as UTF-8"},
    {{"\0{", 2}, "UTF-16 text: save it as UTF-8"},
    {{"\0[", 2}, "UTF-16 text: save it as UTF-8"},
    {"\x7F"
     "ELF",
     "a program (ELF)"},
};

// Texts that PyTorch prints of a graph: read by people, without the shapes that this program needs.
constexpr const char* kExportInstead = "export the model with torch.export instead (.pt2)";

// "V0703 12:00:00.123000 4711 torch/_inductor/...": a line of TORCH_LOGS.
bool isLogLine(std::string_view text) {
    const auto digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
    if (text.size() < 20 || std::string_view("VDIWEC").find(text[0]) == std::string_view::npos) return false;
    return digit(1) && digit(2) && digit(3) && digit(4) && text[5] == ' ' && digit(6) && digit(7) && text[8] == ':';
}

// Warnings of Python may stand before the first such line.
bool isCompileLog(std::string_view text) {
    constexpr int kLines = 64;
    for (int line = 0; line < kLines && !text.empty(); ++line) {
        if (isLogLine(text)) return true;
        text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    }
    return false;
}

// print(model): "Qwen3ForCausalLM(\n  (model): Qwen3Model(".
bool isModelPrintout(std::string_view text) {
    const std::size_t open = text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return open != 0 && open != std::string_view::npos && startsWith(text.substr(open), "(\n  (");
}

std::string printable(std::string_view text) {
    std::string out;
    for (const char c : text.substr(0, 24)) out += c >= ' ' && c < 0x7F ? c : '.';
    return out;
}

// By the keys of the outer object, not by words that may stand in any name.
Sniffed sniffObject(std::string_view head) {
    std::set<std::string, std::less<>> keys;
    bool own = false; // written by this program
    chrome::RootScanner root([&](std::string_view key, std::string_view value, std::uint64_t) {
        keys.emplace(key);
        own = own || (key == "schema" && value.find("fusescope.") < 2);
    });
    root.feed(head);
    if (!root.inEvents()) keys.emplace(root.currentKey());
    const auto has = [&](std::string_view key) { return keys.find(key) != keys.end(); };
    if (root.inEvents() || has("traceEvents")) return {FileKind::KinetoTrace, false, "JSON"};
    if (own || (has("inputs") && has("measured"))) // a session, whose schema stands behind its results
        return {FileKind::Unknown, false,
                "a file that FuseScope wrote: results and sessions belong behind analyze --measured, and the window "
                "opens a session"};
    if (has("schema") && has("nodes"))
        return {FileKind::ExecutionTrace, false,
                "a PyTorch execution trace (ExecutionTraceObserver), which holds no times: record it with "
                "torch.profiler instead"};
    if (has("graph_module") && has("schema_version"))
        return {FileKind::Unknown, false, "the JSON of an exported program without its archive: open the .pt2 file"};
    return {FileKind::KinetoTrace, false, "JSON"}; // its reader says whether there are events
}

} // namespace

Sniffed sniffBytes(std::string_view body) {
    if (body.empty()) return {FileKind::Unknown, false, "no text at all"};
    for (const Magic& magic : kPacked)
        if (startsWith(body, magic.bytes)) return {FileKind::Unknown, false, std::string(magic.what)};
    if (body.front() == '{') return sniffObject(body);
    if (body.front() == '[') return {FileKind::KinetoTrace, false, "JSON"};
    const auto sample = static_cast<std::ptrdiff_t>(std::min<std::size_t>(body.size(), 256));
    const bool binary =
        std::any_of(body.begin(), body.begin() + sample, [](char c) { return static_cast<unsigned char>(c) < 9; });
    if (body.front() == '\x0A' && binary) return {FileKind::PerfettoTrace, false, "a Perfetto trace (protobuf)"};
    if (body.front() == '\x80') return {FileKind::TorchPickle, false, "a pickle, which is never opened"};
    if (binary) return {FileKind::Unknown, false, "binary data that is none of these"};
    const auto text = [](std::string what) { return Sniffed{FileKind::Unknown, false, std::move(what)}; };
    if (isCompileLog(body))
        return text("a log of torch.compile (TORCH_LOGS), which is not read: trace a compiled step");
    if (startsWith(body, "graph():") || startsWith(body, "class GraphModule(") ||
        startsWith(body, "class <lambda>(torch.nn.Module)") || startsWith(body, "opcode "))
        return text(std::string("the printout of an FX graph: ") + kExportInstead);
    if (startsWith(body, "graph(%") || startsWith(body, "graph(") || startsWith(body, "def forward(self"))
        return text(std::string("the printout of a TorchScript graph: ") + kExportInstead);
    if (isModelPrintout(body)) return text(std::string("the printout of a model: ") + kExportInstead);
    if (startsWith(body, "ExportedProgram:"))
        return text("the printout of an exported program: save it with torch.export.save() and open the .pt2 file");
    return text("text that is not JSON, beginning \"" + printable(body) + "\"");
}

} // namespace fusescope
