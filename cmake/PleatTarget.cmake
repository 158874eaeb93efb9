# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
# pleat_library(simulator SOURCES … LINKS …): one folder, one target pleat_simulator, alias pleat::simulator.
# pleat_cold(target …): nothing in it is hot, so its build should be short.
# pleat_test(core_tests SOURCES … LINKS … [BATCH 8] [COST 20] [LABELS gpu slow]): a program, one ctest entry per test case.
# COST: about how many seconds its longest test takes. ctest starts with such tests, so that none is left for the end.
function(pleat_warnings target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;$<$<STREQUAL:${ARGN},PEDANTIC>:-Wpedantic>>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
endfunction()

# Sources of a target are compiled some at a time, which takes a third of the time: each header is read once for all of
# them. So names in unnamed namespaces are unique within a target. PLEAT_UNITY=OFF compiles every source by itself.
option(PLEAT_UNITY "Compile some sources of a target together" ON)
function(pleat_unity target batch)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${PLEAT_UNITY} UNITY_BUILD_BATCH_SIZE ${batch})
  if(PLEAT_UNITY)  # GCC takes a source that is included for a header, whose types should not be unnamed
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

function(pleat_library name)
  cmake_parse_arguments(ARG "" "BATCH" "SOURCES;LINKS" ${ARGN})
  if(NOT ARG_BATCH)
    set(ARG_BATCH 12)
  endif()
  add_library(pleat_${name} STATIC ${ARG_SOURCES})
  add_library(pleat::${name} ALIAS pleat_${name})
  target_include_directories(pleat_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  pleat_warnings(pleat_${name} PEDANTIC)
  pleat_unity(pleat_${name} ${ARG_BATCH})
  target_link_libraries(pleat_${name} PUBLIC ${ARG_LINKS})
endfunction()

# Without line numbers it builds in a tenth less time; sanitizers and debug builds have them.
function(pleat_cold)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE -O1)
    if(NOT PLEAT_SANITIZE)
      target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-g0>)
    endif()
  endforeach()
endfunction()

# What makes a test of a program. pleat_test_headers has their precompiled headers.
function(pleat_test_options target)
  pleat_warnings(${target})
  # The time of a test goes into its build; what it tests is optimised as always.
  target_compile_options(${target} PRIVATE -O1)
  target_link_libraries(${target} PRIVATE GTest::gmock GTest::gtest_main fmt::fmt)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE PLEAT_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
endfunction()

function(pleat_test name)
  cmake_parse_arguments(ARG "" "BATCH;COST" "SOURCES;LINKS;LABELS" ${ARGN})
  string(REPLACE "/" "_" target ${name})
  add_executable(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE ${ARG_LINKS})
  pleat_test_options(${target})
  target_precompile_headers(${target} REUSE_FROM pleat_test_headers)
  if(ARG_BATCH)
    pleat_unity(${target} ${ARG_BATCH})
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS cpu)
  endif()
  if(NOT ARG_COST)
    set(ARG_COST 0)
  endif()
  set(seconds 300)
  if(PLEAT_SANITIZE)
    set(seconds 1200)  # some take 150 on an idle machine
  endif()
  gtest_discover_tests(${target} PROPERTIES TIMEOUT ${seconds} COST ${ARG_COST} DISCOVERY_TIMEOUT 60
                       WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} TEST_LIST ${target}_TESTS)
  # Labels in a file of their own: gtest_discover_tests loses all of a list but its first.
  set(labels ${CMAKE_CURRENT_BINARY_DIR}/${target}_labels.cmake)
  file(WRITE ${labels} "if(${target}_TESTS)
  set_tests_properties(\${${target}_TESTS} PROPERTIES LABELS \"${ARG_LABELS}\")
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${labels})
endfunction()
