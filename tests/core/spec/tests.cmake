pleat_test(core_spec
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/bad_input_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/borrowed_profile_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/catalog_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/cluster_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/expert_load_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/hf_config_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/hybrid_models_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/kernel_tables_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/model_size_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/packing_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/profile_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/rope_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/typical_model_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/units_text_test.cpp
  LINKS pleat::core)
