# SPDX-License-Identifier: GPL-3.0-or-later
set(FUSESCOPE_CLI_SOURCES main.cpp analyze_command.cpp graph_command.cpp output.cpp)
