// SPDX-License-Identifier: Apache-2.0
// The text of a kernel under construction, and what every kind of it says alike: where a tensor's elements lie, and how
// they are read and written.
#pragma once

#include "kernels/pointwise_chain/source.h"

#include <string>

namespace fusescope::kernels::chain {

inline std::string str(int64_t v) { return std::to_string(v); }

class KernelText {
public:
    KernelText(const Program& of, const Plan& with) : program(of), plan(with), nodes(of, with) {}

    const Program& program;
    const Plan& plan;
    const NodeWriter nodes;

    void append(const std::string& text) { text_ += text; }
    void line(const std::string& text) { text_ += indent() + text + "\n"; }
    void open(const std::string& text) {
        line(text + " {");
        ++depth_;
    }
    void close(const char* text = "}") {
        --depth_;
        line(text);
    }
    void unroll() { text_ += "#pragma unroll\n"; }
    void unrolled(const std::string& head) {
        unroll();
        open(head);
    }
    std::string indent() const { return std::string(size_t(depth_) * 4, ' '); }
    std::string take() { return std::move(text_); }

    /// The type of an input's pack of `size` elements.
    std::string packType(size_t input, const char* size) const;
    /// The index of each outer dimension of `row`.
    void outerIndices();
    /// Where the row begins in a tensor.
    std::string rowStart(const char* name, size_t tensor) const;
    /// How far `column` lies from there.
    std::string column(const char* name, size_t tensor, const TensorPlan& t) const;
    /// The function that loads a pack of an input.
    std::string load(size_t input, const char* size) const;
    /// Declares an input's values and takes them out of a pack.
    void widenInput(int input, const std::string& pack);
    /// A result as elements of its type.
    void narrowed(int node, const std::string& to);

private:
    std::string text_;
    int depth_ = 0;
};

/// The functions and the kernel of each kind of plan.
void writePointwise(KernelText& text);
void writeRows(KernelText& text);

} // namespace fusescope::kernels::chain
