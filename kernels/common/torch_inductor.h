// SPDX-License-Identifier: Apache-2.0
// What torch.compile has to be told besides the operators themselves.
#pragma once

#include <utility>

namespace fusescope::kernels {

/// Makes this library's operators known to Inductor as ones that it calls as they are, with the layouts that it asks
/// for by default. It would find out itself, but writes all that leads to an operator's arguments into a line of its
/// log first: along every path, of which a stack of decoder layers with add_rms_norm has 18 times more a layer, so that
/// three layers never end (PyTorch 2.6 to 2.11 at least). Only Python can tell it. Nothing happens outside of Python,
/// and before Inductor is loaded. Once told, Inductor's settings of the default layout and of operators that nobody
/// made known no longer matter to these.
void tellInductor();

namespace detail {
template <class F, F f> struct Meta;
template <class R, class... Args, R (*f)(Args...)> struct Meta<R (*)(Args...), f> {
    static R call(Args... args) {
        tellInductor();
        return f(std::forward<Args>(args)...);
    }
};
} // namespace detail

/// A Meta implementation to register. They run while a graph is traced, before Inductor lowers it.
template <auto f> constexpr auto meta = &detail::Meta<decltype(f), f>::call;

} // namespace fusescope::kernels
