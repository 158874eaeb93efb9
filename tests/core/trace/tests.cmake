# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
pleat_test(core_trace
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/trace_test.cpp
  LINKS pleat::core nlohmann_json::nlohmann_json)
