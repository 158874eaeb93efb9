# Specs: model, cluster, profile; units as text and the environment, which they need.
target_sources(pleat_core PRIVATE
  ${CMAKE_CURRENT_SOURCE_DIR}/environment.cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/units_text.cpp
  ${CMAKE_CURRENT_LIST_DIR}/borrowed_profile.cpp
  ${CMAKE_CURRENT_LIST_DIR}/catalog.cpp
  ${CMAKE_CURRENT_LIST_DIR}/cluster.cpp
  ${CMAKE_CURRENT_LIST_DIR}/datasheet_profile.cpp
  ${CMAKE_CURRENT_LIST_DIR}/expert_load.cpp
  ${CMAKE_CURRENT_LIST_DIR}/expert_load_json.cpp
  ${CMAKE_CURRENT_LIST_DIR}/gpu_reader.cpp
  ${CMAKE_CURRENT_LIST_DIR}/hf_config.cpp
  ${CMAKE_CURRENT_LIST_DIR}/hf_family.cpp
  ${CMAKE_CURRENT_LIST_DIR}/hf_fields.cpp
  ${CMAKE_CURRENT_LIST_DIR}/hf_layers.cpp
  ${CMAKE_CURRENT_LIST_DIR}/hf_moe.cpp
  ${CMAKE_CURRENT_LIST_DIR}/hf_more_families.cpp
  ${CMAKE_CURRENT_LIST_DIR}/hf_rope.cpp
  ${CMAKE_CURRENT_LIST_DIR}/hf_state_space.cpp
  ${CMAKE_CURRENT_LIST_DIR}/hf_unknown.cpp
  ${CMAKE_CURRENT_LIST_DIR}/kernel_tables.cpp
  ${CMAKE_CURRENT_LIST_DIR}/learned.cpp
  ${CMAKE_CURRENT_LIST_DIR}/mixer_size.cpp
  ${CMAKE_CURRENT_LIST_DIR}/packing.cpp
  ${CMAKE_CURRENT_LIST_DIR}/parameters.cpp
  ${CMAKE_CURRENT_LIST_DIR}/profile.cpp
  ${CMAKE_CURRENT_LIST_DIR}/profile_sections.cpp
  ${CMAKE_CURRENT_LIST_DIR}/rope.cpp
  ${CMAKE_CURRENT_LIST_DIR}/run_constants.cpp
  ${CMAKE_CURRENT_LIST_DIR}/typical_model.cpp)
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/environment.cpp PROPERTIES
  COMPILE_DEFINITIONS
  "PLEAT_CONFIG_DIR=\"${CMAKE_SOURCE_DIR}/configs\";PLEAT_SHARE_DIR=\"${CMAKE_BINARY_DIR}/share\";PLEAT_CUDA_LIBRARY=\"${CMAKE_BINARY_DIR}/kernels/cuda/libpleat_cuda.so\"")
