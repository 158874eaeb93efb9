// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// This source tree keeps the rules.
#include <gtest/gtest.h>

#include "tests/architecture/checks.hpp"

namespace pleat::architecture {
namespace {

const std::filesystem::path kRoot = PLEAT_SOURCE_DIR;

TEST(Architecture, TheTreeIsRead) {
  std::size_t headers = 0, scripts = 0, documents = 0;
  for (const TextFile& file : read_tree(kRoot, Kind::text)) {
    headers += file.path == "core/diagnostics.hpp" && file.lines.size() > 10;
    scripts += file.path == ".ci/run" || file.path == "pleat.sh";
    documents += file.path == "CONTRIBUTING.md";
  }
  EXPECT_EQ(headers, 1u);
  EXPECT_EQ(scripts, 2u);
  EXPECT_EQ(documents, 1u);
}

TEST(Architecture, IncludesPointDownTheLayers) { EXPECT_EQ(to_text(check_layers(kRoot)), ""); }

TEST(Architecture, ThirdPartiesStayOutOfHeaders) {
  EXPECT_EQ(to_text(check_third_parties(kRoot)), "");
}

TEST(Architecture, FilesAreSmall) { EXPECT_EQ(to_text(check_file_size(kRoot)), ""); }

TEST(Architecture, LinesFitTheirColumns) { EXPECT_EQ(to_text(check_line_length(kRoot)), ""); }

TEST(Architecture, SourcesNameTheirLicence) { EXPECT_EQ(to_text(check_spdx(kRoot)), ""); }

TEST(Architecture, NoTextNamesAPathOfOneMachine) {
  EXPECT_EQ(to_text(check_machine_paths(kRoot)), "");
}

TEST(Architecture, TheEnvironmentIsReadInOnePlace) {
  EXPECT_EQ(to_text(check_environment(kRoot)), "");
}

TEST(Architecture, TypesOfJsonValuesAreLookedAt) {
  EXPECT_EQ(to_text(check_json_access(kRoot)), "");
}

TEST(Architecture, ANameStandsForOneType) {
  EXPECT_EQ(to_text(check_one_definition(kRoot)), "");
}

TEST(Architecture, EveryKnownBugHasItsTests) { EXPECT_EQ(to_text(check_bug_table(kRoot, 30)), ""); }

}  // namespace
}  // namespace pleat::architecture
