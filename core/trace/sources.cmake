# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
# The trace schema: one file for predicted and measured runs, readable by Perfetto.
target_sources(pleat_core PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/write_trace.cpp
  ${CMAKE_CURRENT_LIST_DIR}/read_trace.cpp)
