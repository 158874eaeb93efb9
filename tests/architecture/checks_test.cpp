// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The checks can fail: each finds what breaks its rule in a small tree, and nothing else.
#include "tests/architecture/checks.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/architecture/fake_tree.hpp"

namespace pleat::architecture {
namespace {

std::string include(const std::string& path) { return "#include \"" + path + "\"\n"; }

TEST(BugTable, FindsRowsThatAreMissingAndTestsThatAre) {
  const FakeTree tree;
  tree.write("tests/a_test.cpp",
             "TEST(Suite, One) {}\nTEST_P(Suite, Two) {}\n// TEST(Suite, Three)\n");
  tree.write("docs/KNOWN_BUGS.md",
             "| 1 | a | `Suite.One`, `Suite.Two` |\n| 2 | b | `Suite.Three` |\n"
             "| 3 | c | Suite.One |\n");
  EXPECT_EQ(to_text(check_bug_table(tree.root(), 4)),
            "docs/KNOWN_BUGS.md:2: there is no test Suite.Three\n"
            "docs/KNOWN_BUGS.md:3: names no test\ndocs/KNOWN_BUGS.md:0: no row for 4\n");
}

TEST(OneDefinition, FindsTwoTypesOfOneName) {
  const FakeTree tree;
  tree.write("core/a.hpp",
             "namespace pleat {\n\nstruct Change {\n  int a;\n};\n\n}  // namespace pleat\n");
  tree.write("core/other.hpp",
             "namespace pleat {\nstruct Change;\nnamespace cli {\nstruct Change { int b; };\n"
             "}  // namespace cli\nnamespace {\nclass Change final : B {\n};\n}  // namespace\n"
             "struct Change::Part {\n};\n}  // namespace pleat\n");
  EXPECT_EQ(to_text(check_one_definition(tree.root())), "");
  tree.write("planner/b.hpp",
             "namespace pleat {\nclass Change final : public B {\n};\n}  // namespace pleat\n");
  EXPECT_EQ(to_text(check_one_definition(tree.root())),
            "planner/b.hpp:2: pleat::Change is also a type of core/a.hpp\n");
}

TEST(LayerCheck, FindsAnIncludeThatPointsUp) {
  const FakeTree tree;
  tree.write("core/plan.hpp", "#pragma once\n");
  tree.write("planner/search.hpp", "#pragma once\n" + include("core/plan.hpp"));
  EXPECT_EQ(to_text(check_layers(tree.root())), "");
  tree.write("core/plan.cpp", include("core/plan.hpp") + include("planner/search.hpp"));
  EXPECT_EQ(to_text(check_layers(tree.root())),
            "core/plan.cpp:2: core may not include \"planner/search.hpp\"\n");
}

// Every pair of layers, against the arrows of docs/ARCHITECTURE.md written out.
TEST(LayerCheck, KnowsEveryArrow) {
  const std::vector<std::string> folders = {
      "core",    "simulator", "planner",    "kernels",     "backend", "calibration",
      "interop", "console",   "validation", "application", "cli",     "python",
      "tests"};
  const std::vector<std::string> allowed = {
      "x............",  // core
      "xx...........",  // simulator
      "xxx..........",  // planner
      "x..x.........",  // kernels
      "x..xx........",  // backend
      "xx.xxx.......",  // calibration
      "x.....x......",  // interop
      "x......x.....",  // console
      "xxx....xx....",  // validation
      "xxxxxxxxxx...",  // application
      "xxxxxxxxxxx..",  // cli
      "xxx...xxxx.x.",  // python: of cli the reports alone
      "xxxxxxxxxxx.x",  // tests
  };
  for (std::size_t from = 0; from < folders.size(); ++from) {
    for (std::size_t to = 0; to < folders.size(); ++to) {
      const FakeTree tree;
      tree.write(folders[to] + "/b.hpp", "");
      tree.write(folders[from] + "/a.cpp", include(folders[to] + "/b.hpp"));
      EXPECT_EQ(check_layers(tree.root()).empty(), allowed[from][to] == 'x')
          << folders[from] << " includes " << folders[to];
    }
  }
}

TEST(LayerCheck, InteropSeesOnlyCoreAndItself) {
  const FakeTree tree;
  for (const char* path : {"core/a.hpp", "interop/b.hpp", "cli/c.hpp", "simulator/d.hpp"})
    tree.write(path, "");
  tree.write("interop/slurm.cpp", include("core/a.hpp") + include("interop/b.hpp") +
                                          include("cli/c.hpp") + include("simulator/d.hpp"));
  EXPECT_EQ(to_text(check_layers(tree.root())),
            "interop/slurm.cpp:3: interop may not include \"cli/c.hpp\"\n"
            "interop/slurm.cpp:4: interop may not include \"simulator/d.hpp\"\n");
}

TEST(LayerCheck, PythonSeesOnlyTheReportsOfTheCommandLine) {
  const FakeTree tree;
  for (const char* path : {"cli/report/a.hpp", "cli/b.hpp"}) tree.write(path, "");
  tree.write("python/binding/c.cpp", include("cli/report/a.hpp") + include("cli/b.hpp"));
  EXPECT_EQ(to_text(check_layers(tree.root())),
            "python/binding/c.cpp:2: python may not include \"cli/b.hpp\"\n");
}

TEST(LayerCheck, FindsIncludesThatAreNotFromTheRoot) {
  const FakeTree tree;
  tree.write("core/a.hpp", "");
  tree.write("core/a.cpp", include("a.hpp") + include("core/gone.hpp") + include("../core/a.hpp") +
                               "  #  include <core/a.hpp>\n#include <vector>\n");
  EXPECT_EQ(
      to_text(check_layers(tree.root())),
      "core/a.cpp:1: \"a.hpp\" is no header of ours; write includes from the repository root\n"
      "core/a.cpp:2: \"core/gone.hpp\" is no header of ours; write includes from the repository "
      "root\n"
      "core/a.cpp:3: \"../core/a.hpp\" is no header of ours; write includes from the repository "
      "root\n"
      "core/a.cpp:4: write our own header \"core/a.hpp\" in quotes\n");
}

TEST(LayerCheck, FindsAFolderWithoutALayer) {
  const FakeTree tree;
  tree.write("tools/a.cpp", "");
  tree.write("build/generated.cpp", include("nothing.hpp"));
  tree.write("build-asan/generated.cpp", include("nothing.hpp"));
  EXPECT_EQ(to_text(check_layers(tree.root())),
            "tools/a.cpp:0: is in no layer; add its folder to the layers\n");
}

TEST(ThirdPartyCheck, FindsThemInHeadersOnly) {
  const FakeTree tree;
  tree.write("core/a.cpp",
             "#include <nlohmann/json.hpp>\n#include <boost/graph/adjacency_list.hpp>\n");
  tree.write("kernels/cuda/a.cu", "#include <cuda_runtime.h>\n");
  tree.write("kernels/cuda/b.cuh", "#include <cuda_bf16.h>\n");
  EXPECT_EQ(to_text(check_third_parties(tree.root())), "");
  tree.write("core/a.hpp", "#include <nlohmann/json_fwd.hpp>\n");
  tree.write("kernels/a.hpp", "#include <Eigen/Dense>\n#include <cuda_runtime.h>\n");
  tree.write("kernels/cuda/b.cuh", "#include <cuda_bf16.h>\n#include <Eigen/Dense>\n");
  EXPECT_EQ(to_text(check_third_parties(tree.root())),
            "core/a.hpp:1: nlohmann in a header; keep it in a .cpp or .cu\n"
            "kernels/a.hpp:1: Eigen in a header; keep it in a .cpp or .cu\n"
            "kernels/a.hpp:2: CUDA in a header; keep it in a .cpp or .cu\n"
            "kernels/cuda/b.cuh:2: Eigen in a header; keep it in a .cpp or .cu\n");
}

TEST(FileSizeCheck, FindsTheFirstLineTooMany) {
  const FakeTree tree;
  std::string text;
  for (int i = 0; i < kMaxLines; ++i) text += "\n";
  tree.write("core/full.cpp", text);
  EXPECT_EQ(to_text(check_file_size(tree.root())), "");
  tree.write("core/over.cpp", text + "\n");
  tree.write("configs/over.json", text + "\n");  // data may be long
  EXPECT_EQ(to_text(check_file_size(tree.root())),
            "core/over.cpp:501: 501 lines; at most 500, and 50 to 150 read best\n");
}

TEST(LineLengthCheck, CountsCharacters) {
  const FakeTree tree;
  std::string dots;  // three bytes each
  for (int i = 0; i < kMaxColumns; ++i) dots += "…";
  tree.write("core/full.cpp", std::string(100, 'x') + "\n" + dots + "\n");
  tree.write("docs/over.md", dots + ".\n");  // text may be long
  EXPECT_EQ(to_text(check_line_length(tree.root())), "");
  tree.write("core/over.cu", "\n" + dots + ".\n");
  EXPECT_EQ(to_text(check_line_length(tree.root())),
            "core/over.cu:2: 101 columns; at most 100 (clang-format)\n");
}

TEST(SpdxCheck, FindsSourcesWithoutOrWithHalfOfIt) {
  const FakeTree tree;
  const std::string copyright = "SPDX-FileCopyrightText: 2026 The Pleat authors\n";
  const std::string licence = "SPDX-License-Identifier: Apache-2.0\n";
  tree.write("core/good.cpp", "// " + copyright + "// " + licence);
  tree.write("pleat.sh", "#!/usr/bin/env bash\n# " + copyright + "# " + licence);
  EXPECT_EQ(to_text(check_spdx(tree.root())), "");
  tree.write("core/empty.hpp", "");
  tree.write("core/half.cu", "// " + copyright + "// a kernel\n");
  tree.write("core/late.cpp", "\n// " + copyright + "// " + licence);
  EXPECT_EQ(to_text(check_spdx(tree.root())),
            "core/empty.hpp:1: must begin with the two SPDX lines\n"
            "core/half.cu:1: must begin with the two SPDX lines\n"
            "core/late.cpp:1: must begin with the two SPDX lines\n");
}

TEST(MachinePathCheck, FindsAbsolutePathsAndLeavesUrlsAlone) {
  const FakeTree tree;
  const std::string temporary = std::string("/tm") + "p/";
  tree.write("docs/fine.md", "https://example.com/home/page and build" + temporary + "x and ${X}" +
                                 temporary + "y and /usr/local/cuda/bin\n");
  EXPECT_EQ(to_text(check_machine_paths(tree.root())), "");
  const std::string home = std::string("/ho") + "me/";
  tree.write("configs/a.json", "{\n  \"data\": \"" + home + "me/tokens.bin\"\n}\n");
  EXPECT_EQ(to_text(check_machine_paths(tree.root())),
            "configs/a.json:2: names a path of one machine: " + home + "\n");
}

TEST(EnvironmentCheck, FindsASecondReaderAndAMissingOne) {
  const FakeTree tree;
  const std::string read = std::string("std::get") + "env(\"HOME\");\n";
  EXPECT_EQ(to_text(check_environment(tree.root())),
            "core/environment.cpp:0: should be where environment variables are read\n");
  tree.write("core/environment.cpp", read);
  EXPECT_EQ(to_text(check_environment(tree.root())), "");
  tree.write("cli/main.cpp", "\n" + read);
  EXPECT_EQ(to_text(check_environment(tree.root())),
            "cli/main.cpp:2: environment variables are read in core/environment.cpp\n");
}

TEST(JsonAccessCheck, FindsValuesWhoseTypeNobodyLookedAt) {
  const FakeTree tree;
  tree.write("planner/a.cpp",
             "const auto* s = v.as_string();\n"
             "use(*v.find(\"a\")->as_string());\n"
             "n = v.as_string()->size();\n");
  tree.write("tests/b.cpp", "use(*v.as_string());\n");
  EXPECT_EQ(to_text(check_json_access(tree.root())),
            "planner/a.cpp:2: looks at no type before *v.find(\"a\")->as_string()\n"
            "planner/a.cpp:3: looks at no type before as_string()->\n");
}

}  // namespace
}  // namespace pleat::architecture
