// SPDX-License-Identifier: Apache-2.0
#include "core/base/memory_available.h"
#include "tests/support/files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace fusescope {
namespace {

// A machine with 8 GiB available; groups are added.
class Machine {
public:
    Machine() { write("/proc/meminfo", "MemTotal:       16777216 kB\nMemAvailable:    8388608 kB\n"); }
    void write(const std::string& path, const std::string& text) const {
        const std::filesystem::path file = root() + path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    void group(const std::string& folder, const char* limit, const char* used, const char* idle) const {
        write(folder + "/memory.max", limit);
        write(folder + "/memory.current", used);
        write(folder + "/memory.stat", std::string("anon 5\ninactive_file ") + idle + "\nactive_file 7\n");
    }
    [[nodiscard]] double available() const { return availableMemory(root()); }

private:
    [[nodiscard]] std::string root() const { return folder_.path().string(); }
    test::TempDir folder_;
};

constexpr double kGiB = 1 << 30;

TEST(AvailableMemory, OfTheMachine) {
    const Machine machine;
    EXPECT_EQ(machine.available(), 8 * kGiB);
    EXPECT_EQ(availableMemory("/nowhere"), 0);
    EXPECT_GT(availableMemory(), 0) << "here";
}

TEST(AvailableMemory, AGroupLeavesLess) {
    const Machine machine;
    machine.write("/proc/self/cgroup", "0::/user.slice/job\n");
    machine.group("/sys/fs/cgroup/user.slice/job", "4294967296\n", "2147483648\n", "1073741824");
    EXPECT_EQ(machine.available(), 3 * kGiB) << "4 GiB, of which 2 are used, 1 by files that can go";
}

TEST(AvailableMemory, TheNarrowestOfTheGroupsAround) {
    const Machine machine;
    machine.write("/proc/self/cgroup", "0::/user.slice/job\n");
    machine.group("/sys/fs/cgroup/user.slice/job", "max\n", "2147483648\n", "0");
    machine.group("/sys/fs/cgroup/user.slice", "3221225472\n", "2147483648\n", "0");
    EXPECT_EQ(machine.available(), kGiB);
}

TEST(AvailableMemory, AContainerSeesItselfAtTheTop) {
    const Machine machine;
    machine.write("/proc/self/cgroup", "0::/docker/8a6f\n"); // a path of the machine outside
    machine.group("/sys/fs/cgroup", "1073741824\n", "0\n", "0");
    EXPECT_EQ(machine.available(), kGiB);
    machine.write("/proc/self/cgroup", "0::/../../docker/8a6f\n");
    EXPECT_EQ(machine.available(), kGiB);
}

TEST(AvailableMemory, TheFirstVersion) {
    const Machine machine;
    machine.write("/proc/self/cgroup", "5:cpu,cpuacct:/job\n4:memory:/job\n0::/\n");
    machine.write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2147483648\n");
    machine.write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1610612736\n");
    machine.write("/sys/fs/cgroup/memory/job/memory.stat", "total_inactive_file 536870912\n");
    EXPECT_EQ(machine.available(), kGiB);
    machine.write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n"); // none
    EXPECT_EQ(machine.available(), 8 * kGiB);
}

TEST(AvailableMemory, AFullGroupIsKnownToBeFull) {
    const Machine machine;
    machine.write("/proc/self/cgroup", "0::/job\n");
    machine.group("/sys/fs/cgroup/job", "1048576\n", "2097152\n", "0");
    EXPECT_EQ(machine.available(), 1);
}

TEST(AvailableMemory, NonsenseSaysNothing) {
    const Machine machine;
    machine.write("/proc/self/cgroup", "\n:\n0:\n0::\n0::job\n4:memory\nx:memory:/job\n");
    machine.group("/sys/fs/cgroup/job", "-5\n", "many\n", "x");
    machine.write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "nan\n");
    EXPECT_EQ(machine.available(), 8 * kGiB);
}

} // namespace
} // namespace fusescope
