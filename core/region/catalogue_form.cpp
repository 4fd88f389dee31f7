// SPDX-License-Identifier: Apache-2.0
#include "core/region/catalogue_form.h"

#include "core/graph/graph_builder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>

namespace fusescope::region {
namespace {

using Sizes = std::vector<std::int64_t>;

struct Text {
    const char* name;
    ArgKind kind;
    std::string text;
};

Text number(const char* name, std::int64_t value) { return {name, ArgKind::Scalar, std::to_string(value)}; }
Text real(const char* name, double value) {
    std::array<char, 40> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific).ptr;
    return {name, ArgKind::Scalar, std::string(text.data(), end)};
}
Text list(const char* name, const Sizes& values) {
    std::string text = "[";
    for (const std::int64_t value : values) text += (text.size() > 1 ? ", " : "") + std::to_string(value);
    return {name, ArgKind::ScalarList, text + "]"};
}

std::string torchName(DType type) {
    switch (type) {
    case DType::BFloat16: return "torch.bfloat16";
    case DType::Float16: return "torch.float16";
    case DType::Float64: return "torch.float64";
    default: return "torch.float32";
    }
}

class Maker {
public:
    explicit Maker(DType type) : type_(type) {}

    struct Tensor {
        ValueId id;
        Sizes sizes, strides;
        DType type = DType::Unknown;
    };

    Tensor input(const char* name, Sizes sizes, bool gradient = true, DType type = DType::Unknown, Sizes strides = {}) {
        Tensor t{{}, std::move(sizes), std::move(strides), type == DType::Unknown ? type_ : type};
        TensorMeta meta = metaOf(t);
        meta.requires_grad = gradient;
        t.id = b_.input(ValueKind::Input, name, meta);
        return t;
    }
    Tensor weight(const char* name, Sizes sizes) {
        Tensor t{{}, std::move(sizes), {}, type_};
        TensorMeta meta = metaOf(t);
        meta.requires_grad = true;
        t.id = b_.parameter(false, name, name, meta);
        return t;
    }
    // op: "mul.Tensor"; operands are the arguments in front.
    Tensor op(const char* op, const std::vector<std::pair<const char*, Tensor>>& operands,
              const std::vector<Text>& texts, Sizes sizes, DType type = DType::Unknown) {
        const std::string name =
            std::string(op).substr(0, std::string_view(op).find('.')) + "_" + std::to_string(count_++);
        b_.node(name, std::string("torch.ops.aten.") + op, {}, "");
        for (const auto& [argument, value] : operands) b_.argTensor(argument, false, value.id);
        for (const Text& text : texts) b_.argText(text.name, false, text.kind, text.text);
        return result(name, std::move(sizes), type);
    }
    Tensor cat(const Tensor& a, const Tensor& b, Sizes sizes) {
        const std::string name = "cat_" + std::to_string(count_++);
        b_.node(name, "torch.ops.aten.cat.default", {}, "");
        b_.argTensors("tensors", false, {a.id, b.id});
        b_.argText("dim", false, ArgKind::Scalar, "-1");
        return result(name, std::move(sizes), DType::Unknown);
    }
    Tensor cast(const Tensor& x, DType type) {
        if (x.type == type) return x;
        return op("to.dtype", {{"self", x}}, {{"dtype", ArgKind::Text, torchName(type)}}, x.sizes, type);
    }
    Tensor mul(const Tensor& a, const Tensor& b) {
        return op("mul.Tensor", {{"self", a}, {"other", b}}, {}, a.sizes.size() < b.sizes.size() ? b.sizes : a.sizes,
                  a.type);
    }
    Tensor swapped(const Tensor& x, std::int64_t a, std::int64_t b) { // transpose
        Sizes sizes = x.sizes;
        std::swap(sizes[static_cast<std::size_t>(a)], sizes[static_cast<std::size_t>(b)]);
        return op("transpose.int", {{"self", x}}, {number("dim0", a), number("dim1", b)}, std::move(sizes), x.type);
    }
    // 0 where key <= query.
    Tensor causalMask(Sizes sizes) {
        const Tensor all = op("full.default", {}, {list("size", sizes), number("fill_value", 1)}, sizes);
        b_.node("tril", "torch.ops.aten.tril.default", {}, "");
        b_.argTensor("self", false, all.id);
        ++count_;
        return result("mask", std::move(sizes), type_);
    }
    void leaves(const Tensor& x) { b_.graphOutput(x.id); }
    // What is made so far is not the pattern's.
    void begin() { first_ = count_; }
    Result<CatalogueForm> finish() {
        Result<ModelGraph> graph = std::move(b_).finish();
        if (!graph) return std::move(graph).error();
        CatalogueForm form{std::move(*graph), {}};
        for (auto n = static_cast<std::size_t>(first_); n < form.graph.ops.nodes.size(); ++n)
            form.nodes.emplace_back(n);
        return form;
    }
    [[nodiscard]] DType type() const { return type_; }
    // What the framework computes norms and softmax in.
    [[nodiscard]] DType wide() const { return type_ == DType::Float64 ? DType::Float64 : DType::Float32; }

private:
    static TensorMeta metaOf(const Tensor& t) {
        TensorMeta meta;
        meta.dtype = t.type;
        meta.sizes = t.sizes;
        meta.strides = t.strides;
        return meta;
    }
    Tensor result(const std::string& name, Sizes sizes, DType type) {
        Tensor t{{}, std::move(sizes), {}, type == DType::Unknown ? type_ : type};
        t.id = b_.output(name, metaOf(t));
        return t;
    }

    GraphBuilder b_;
    DType type_;
    int count_ = 0, first_ = 0; // nodes
};

using Tensor = Maker::Tensor;

// A trace may record any sizes; products of these must not leave 64 bits.
bool fitsIntoMemory(const Geometry& s) {
    constexpr double kMostElements = 1e15;
    const auto fits = [](std::initializer_list<double> sizes) {
        double product = 1;
        for (const double size : sizes) {
            if (!(size >= 0 && size <= kMostElements)) return false;
            product *= std::max(1.0, size);
        }
        return product <= kMostElements;
    };
    double elements = 1;
    for (const std::int64_t size : s.sizes) elements *= std::max(1.0, static_cast<double>(size));
    const double heads = std::max(s.heads, s.kv_heads), tokens = std::max(s.q_len, s.kv_len);
    return fits({s.rows, s.width}) && fits({s.rows, s.hidden}) && fits({s.width, s.hidden}) &&
           fits({s.kv_width, s.hidden}) && fits({elements}) && fits({s.batch, heads, tokens, s.head_dim}) &&
           fits({s.batch, heads, s.q_len, s.kv_len});
}

std::int64_t whole(double number) { return static_cast<std::int64_t>(number); }

Tensor norm(Maker& m, const Tensor& x, const Tensor& weight, double eps) {
    Sizes rows = x.sizes;
    rows.back() = 1;
    const Tensor up = m.cast(x, m.wide());
    const Tensor square = m.op("pow.Tensor_Scalar", {{"self", up}}, {number("exponent", 2)}, x.sizes, m.wide());
    const Tensor mean =
        m.op("mean.dim", {{"self", square}}, {list("dim", {-1}), {"keepdim", ArgKind::Scalar, "True"}}, rows, m.wide());
    const Tensor sum = m.op("add.Tensor", {{"self", mean}}, {real("other", eps)}, rows, m.wide());
    const Tensor root = m.op("rsqrt.default", {{"self", sum}}, {}, rows, m.wide());
    return m.mul(weight, m.cast(m.mul(up, root), m.type()));
}

Tensor rotated(Maker& m, const Tensor& x, const Tensor& cos, const Tensor& sin) {
    Sizes half = x.sizes;
    half.back() /= 2;
    const Tensor straight = m.mul(x, cos);
    const auto slice = [&](std::int64_t start, std::int64_t end) {
        return m.op("slice.Tensor", {{"self", x}}, {number("dim", 3), number("start", start), number("end", end)},
                    half);
    };
    const Tensor low = slice(0, half.back()), high = slice(half.back(), x.sizes.back());
    const Tensor minus = m.op("neg.default", {{"self", high}}, {}, half);
    return m.op("add.Tensor", {{"self", straight}, {"other", m.mul(m.cat(minus, low, x.sizes), sin)}}, {}, x.sizes);
}

// [B, H, S, D] as a view of [B, S, H, D], which is how the projections leave it.
Tensor headsInput(Maker& m, const char* name, std::int64_t batch, std::int64_t heads, std::int64_t tokens,
                  std::int64_t dim) {
    return m.input(name, {batch, heads, tokens, dim}, true, DType::Unknown,
                   {tokens * heads * dim, dim, heads * dim, 1});
}

Tensor repeated(Maker& m, const Tensor& x, std::int64_t times) {
    if (times == 1) return x;
    const Sizes& s = x.sizes;
    const Tensor apart = m.op("unsqueeze.default", {{"self", x}}, {number("dim", 2)}, {s[0], s[1], 1, s[2], s[3]});
    const Sizes spread{s[0], s[1], times, s[2], s[3]}, flat{s[0], s[1] * times, s[2], s[3]};
    const Tensor wide = m.op("expand.default", {{"self", apart}}, {list("size", spread)}, spread);
    return m.op("reshape.default", {{"self", wide}}, {list("shape", flat)}, flat);
}

void attention(Maker& m, const Geometry& s, bool fused) {
    const std::int64_t b = whole(s.batch), h = whole(s.heads), kv = whole(s.kv_heads), n = whole(s.q_len),
                       d = whole(s.head_dim), all = s.kv_len > 0 ? whole(s.kv_len) : n;
    if (fused) {
        const Tensor q = headsInput(m, "q", b, h, n, d), k = headsInput(m, "k", b, kv, all, d),
                     v = headsInput(m, "v", b, kv, all, d);
        const auto flag = [](const char* name, bool on) { return Text{name, ArgKind::Scalar, on ? "True" : "False"}; };
        m.leaves(m.op("scaled_dot_product_attention.default", {{"query", q}, {"key", k}, {"value", v}},
                      {flag("is_causal", n > 1 && n == all), flag("enable_gqa", h != kv)}, {b, h, n, d}));
        return;
    }
    Tensor mask;
    if (n > 1) mask = m.causalMask({b, 1, n, all});
    m.begin();
    const Tensor k = repeated(m, headsInput(m, "k", b, kv, all, d), h / kv);
    const Tensor v = repeated(m, headsInput(m, "v", b, kv, all, d), h / kv);
    const Tensor q = headsInput(m, "q", b, h, n, d);
    Tensor scores = m.op("matmul.default", {{"self", q}, {"other", m.swapped(k, 2, 3)}}, {}, {b, h, n, all});
    scores = m.op("mul.Tensor", {{"self", scores}}, {real("other", std::pow(s.head_dim, -0.5))}, scores.sizes);
    if (n > 1) scores = m.op("add.Tensor", {{"self", scores}, {"other", mask}}, {}, scores.sizes);
    const Tensor softmax =
        m.op("softmax.int", {{"self", scores}}, {number("dim", -1), {"dtype", ArgKind::Text, torchName(m.wide())}},
             scores.sizes, m.wide());
    const Tensor out = m.op("matmul.default", {{"self", m.cast(softmax, m.type())}, {"other", v}}, {}, {b, h, n, d});
    m.leaves(m.op("contiguous.default", {{"self", m.swapped(out, 1, 2)}}, {}, {b, n, h, d}));
}

void rope(Maker& m, const Geometry& s, bool normed) {
    const std::int64_t b = whole(s.batch), n = whole(s.q_len), d = whole(s.head_dim);
    const auto turned = [&](const char* name, const char* weight, double heads, const Tensor& cos, const Tensor& sin) {
        if (!normed) return rotated(m, headsInput(m, name, b, whole(heads), n, d), cos, sin);
        const Tensor x = m.input(name, {b, n, whole(heads), d});
        return rotated(m, m.swapped(norm(m, x, m.weight(weight, {d}), s.eps > 0 ? s.eps : 1e-6), 1, 2), cos, sin);
    };
    const Tensor cos = m.input("cos", {b, 1, n, d}, false), sin = m.input("sin", {b, 1, n, d}, false);
    m.leaves(turned("q", "q_weight", s.heads, cos, sin));
    if (s.kv_heads > 0) m.leaves(turned("k", "k_weight", s.kv_heads, cos, sin));
}

void linearCrossEntropy(Maker& m, const Geometry& s) {
    const std::int64_t rows = whole(s.rows), vocabulary = whole(s.width);
    Sizes sizes = s.sizes.empty() ? Sizes{rows, whole(s.hidden)} : s.sizes;
    const Tensor x = m.input("x", sizes);
    sizes.back() = vocabulary;
    const Tensor logits = m.op(
        "linear.default", {{"input", x}, {"weight", m.weight("weight", {vocabulary, whole(s.hidden)})}}, {}, sizes);
    Tensor flat = m.cast(logits, m.wide());
    if (sizes.size() != 2)
        flat = m.op("view.default", {{"self", flat}}, {list("size", {-1, vocabulary})}, {rows, vocabulary}, m.wide());
    const Tensor labels = m.input("labels", {rows}, false, DType::Int64);
    m.leaves(m.op("cross_entropy_loss.default", {{"self", flat}, {"target", labels}},
                  {{"weight", ArgKind::None, "None"}, number("reduction", 1), number("ignore_index", -100)}, {},
                  m.wide()));
}

} // namespace

Result<CatalogueForm> catalogueForm(Pattern pattern, const Geometry& s, bool fused) {
    const auto unknown = [](const char* found) {
        return Error{ErrorCode::Unsupported, "a region whose shapes are known", found, "catalogue"};
    };
    const bool heads = pattern == Pattern::Attention || pattern == Pattern::Rope || pattern == Pattern::QkNormRope;
    if (!s.known()) return unknown("none: the trace was recorded without record_shapes");
    if (heads && (s.batch < 1 || s.heads < 1 || s.q_len < 1 || s.head_dim < 1))
        return unknown("not all of batch, heads, tokens and head size");
    if (!fitsIntoMemory(s))
        return Error{ErrorCode::Limit, "a region that fits into memory", "sizes of a larger one", "catalogue"};
    Maker m(s.dtype);
    Sizes sizes = s.sizes.empty() ? Sizes{whole(s.rows), whole(s.width)} : s.sizes;
    const std::int64_t width = whole(s.width);
    const double eps = s.eps > 0 ? s.eps : 1e-6;
    switch (pattern) {
    case Pattern::RmsNorm: m.leaves(norm(m, m.input("x", sizes), m.weight("weight", {width}), eps)); break;
    case Pattern::AddRmsNorm: {
        const Tensor residual = m.input("residual", sizes), x = m.input("x", sizes);
        const Tensor sum = m.op("add.Tensor", {{"self", residual}, {"other", x}}, {}, sizes);
        m.leaves(norm(m, sum, m.weight("weight", {width}), eps));
        if (s.residual_gradient) m.leaves(sum); // else it is the last norm: nothing reads the sum again
        break;
    }
    case Pattern::SwiGlu: {
        const Tensor gate = m.input("gate", sizes), up = m.input("up", sizes);
        m.leaves(m.mul(m.op("silu.default", {{"self", gate}}, {}, sizes), up));
        break;
    }
    case Pattern::QkvProjection: {
        if (s.hidden < 1 || s.kv_width < 1) return unknown("not all widths of q, k and v");
        if (s.sizes.empty()) sizes.back() = whole(s.hidden);
        const Tensor x = m.input("x", sizes);
        const std::int64_t kv = whole(s.kv_width);
        for (const auto& [name, outputs] :
             {std::pair("q_weight", width - 2 * kv), {"k_weight", kv}, {"v_weight", kv}}) {
            Sizes out = sizes;
            out.back() = outputs;
            m.leaves(m.op("linear.default", {{"input", x}, {"weight", m.weight(name, {outputs, whole(s.hidden)})}}, {},
                          out));
        }
        break;
    }
    case Pattern::Attention:
        if (s.kv_heads < 1 || whole(s.heads) % whole(s.kv_heads) != 0) return unknown("heads that do not form groups");
        attention(m, s, fused);
        break;
    case Pattern::Rope: rope(m, s, false); break;
    case Pattern::QkNormRope: rope(m, s, true); break;
    case Pattern::LinearCrossEntropy:
        if (s.hidden < 1) return unknown("not the size of the hidden state");
        linearCrossEntropy(m, s);
        break;
    default:
        return Error{ErrorCode::Unsupported, "a pattern with a form of its own", std::string(idOf(pattern)),
                     "catalogue"};
    }
    return m.finish();
}

} // namespace fusescope::region
