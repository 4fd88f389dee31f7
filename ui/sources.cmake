# SPDX-License-Identifier: GPL-3.0-or-later
set(FUSESCOPE_UI_SOURCES
    base/paint.cpp
    base/session.cpp)
