# pleat_library(simulator SOURCES … LINKS …): one folder, one target pleat_simulator, alias pleat::simulator.
# pleat_test(core/units_test LINKS …): one test source, one ctest entry per test case.
function(pleat_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_library(pleat_${name} STATIC ${ARG_SOURCES})
  add_library(pleat::${name} ALIAS pleat_${name})
  target_include_directories(pleat_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_options(pleat_${name} PRIVATE -Wall -Wextra -Wpedantic)
  target_link_libraries(pleat_${name} PUBLIC ${ARG_LINKS})
endfunction()

function(pleat_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;LABELS" ${ARGN})
  string(REPLACE "/" "_" target ${name})
  add_executable(${target} ${ARG_SOURCES})
  target_compile_options(${target} PRIVATE -Wall -Wextra)
  target_link_libraries(${target} PRIVATE ${ARG_LINKS} GTest::gtest_main)
  target_compile_definitions(${target} PRIVATE PLEAT_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  if(NOT ARG_LABELS)
    set(ARG_LABELS cpu)
  endif()
  gtest_discover_tests(${target} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 300 DISCOVERY_TIMEOUT 60
                       WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
endfunction()
