# SPDX-License-Identifier: GPL-3.0-or-later
set(FUSESCOPE_CLI_SOURCES
    main.cpp analyze_command.cpp chosen_regions.cpp command_names.cpp device_command.cpp fuse_command.cpp graph_command.cpp output.cpp
    runner_session.cpp)
