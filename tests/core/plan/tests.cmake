# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
# Tests of core/plan and of the pipeline order.
pleat_test(core_plan
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/plan_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/layout_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/rank_map_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/pipeline_order_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/split_orders_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/plan_document_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/plan_table_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/published_numerics_test.cpp
  LINKS pleat::core)
pleat_test(core_constraints
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/constraints_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/constraints_pipeline_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/constraints_exchange_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/constraints_schedule_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/constraints_data_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/constraints_memory_test.cpp
          ${CMAKE_CURRENT_LIST_DIR}/allocation_count.cpp
  LINKS pleat::core)
