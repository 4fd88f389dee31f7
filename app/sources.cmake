# SPDX-License-Identifier: GPL-3.0-or-later
set(FUSESCOPE_APP_SOURCES
    main.cpp
    banner.cpp
    icons.cpp
    loader.cpp
    main_window.cpp
    main_window_bars.cpp
    main_window_files.cpp
    main_window_fuse.cpp
    main_window_menus.cpp
    runner_dialog.cpp
    runner_process.cpp
    screenshot.cpp
    settings.cpp
    welcome.cpp
    ../resources/icons/icons.qrc)
