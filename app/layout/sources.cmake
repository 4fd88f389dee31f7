# SPDX-License-Identifier: GPL-3.0-or-later
set(FUSESCOPE_LAYOUT_SOURCES
    graphviz_layout.cpp
    main.cpp)
