// SPDX-License-Identifier: GPL-3.0-or-later
// What the inputs were when they were read. A run recorded anew takes the name of the last one while that is on the
// screen: what was measured belongs to what was read.
#pragma once

#include "core/analysis/analysis.h"

#include <QByteArray>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fusescope {

// Size and time of a file's content as it is now; of a file that is gone, too.
[[nodiscard]] QByteArray fileState(const std::string& file);

class OpenedFiles {
public:
    // Of the analysis' inputs. One that an earlier analysis had in memory was not read again (another step or GPU).
    void note(const Analysis& analysis);
    [[nodiscard]] std::vector<QByteArray> states(const std::vector<std::string>& files) const; // parallel; as read
    [[nodiscard]] bool changed(const std::string& file) const;                                 // since it was read

private:
    struct Input {
        std::shared_ptr<const void> read; // the trace or the graph
        QByteArray state;
    };
    std::map<std::string, Input> inputs_; // by name
};

} // namespace fusescope
