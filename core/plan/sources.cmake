# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
# Plans: names, layouts, rank map, named constraints, the plan document, the pipeline order.
target_sources(pleat_core PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/plan.cpp
  ${CMAKE_CURRENT_LIST_DIR}/plan_table_check.cpp
  ${CMAKE_CURRENT_LIST_DIR}/numerics.cpp
  ${CMAKE_CURRENT_LIST_DIR}/numerics_rows.cpp
  ${CMAKE_CURRENT_LIST_DIR}/published_numerics.cpp
  ${CMAKE_CURRENT_LIST_DIR}/layout_text.cpp
  ${CMAKE_CURRENT_LIST_DIR}/layout.cpp
  ${CMAKE_CURRENT_LIST_DIR}/rank_map.cpp
  ${CMAKE_CURRENT_LIST_DIR}/expert_slots.cpp
  ${CMAKE_CURRENT_LIST_DIR}/constraints.cpp
  ${CMAKE_CURRENT_LIST_DIR}/grid_rules.cpp
  ${CMAKE_CURRENT_LIST_DIR}/model_rules.cpp
  ${CMAKE_CURRENT_LIST_DIR}/pipeline_rules.cpp
  ${CMAKE_CURRENT_LIST_DIR}/feature_rules.cpp
  ${CMAKE_CURRENT_LIST_DIR}/memory_rules.cpp
  ${CMAKE_CURRENT_LIST_DIR}/offload_rules.cpp
  ${CMAKE_CURRENT_LIST_DIR}/stage_override.cpp
  ${CMAKE_CURRENT_LIST_DIR}/stage_rules.cpp
  ${CMAKE_CURRENT_LIST_DIR}/exchange_rules.cpp
  ${CMAKE_CURRENT_LIST_DIR}/data_rules.cpp
  ${CMAKE_CURRENT_LIST_DIR}/placement_rules.cpp
  ${CMAKE_CURRENT_LIST_DIR}/executed_formats.cpp
  ${CMAKE_CURRENT_LIST_DIR}/predicted_only.cpp
  ${CMAKE_CURRENT_LIST_DIR}/schedule_rules.cpp
  ${CMAKE_CURRENT_LIST_DIR}/resolved_layers.cpp
  ${CMAKE_CURRENT_LIST_DIR}/resolved_model.cpp
  ${CMAKE_CURRENT_LIST_DIR}/resolved_rope.cpp
  ${CMAKE_CURRENT_LIST_DIR}/plan_document.cpp
  ${CMAKE_CURRENT_LIST_DIR}/plan_fields.cpp
  ${CMAKE_CURRENT_LIST_DIR}/../program/pipeline_order.cpp
  ${CMAKE_CURRENT_LIST_DIR}/../program/split_orders.cpp)
