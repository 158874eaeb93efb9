// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Where a process gets its job's secret from, and what it refuses.
#include "backend/launch/find_job_secret.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kText = "0123456789abcdef0123456789abcdef";

Variables variables(std::map<std::string, std::string> set) {
  return [set = std::move(set)](const std::string& name) -> std::optional<std::string> {
    const auto found = set.find(name);
    return found == set.end() ? std::nullopt : std::optional(found->second);
  };
}

std::string refusal(std::map<std::string, std::string> set) {
  try {
    static_cast<void>(find_job_secret(variables(std::move(set))));
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::bad_request);
    return e.what();
  }
  return "";
}

std::string file_with(const std::string& text, mode_t mode) {
  const std::string path =
      ::testing::TempDir() + "secret_" +
      ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::filesystem::remove(path);
  std::ofstream(path) << text;
  chmod(path.c_str(), mode);
  return path;
}

TEST(FindJobSecret, NoneIsKnownToAll) {
  EXPECT_TRUE(find_job_secret(variables({})).is_known_to_all());
  EXPECT_TRUE(find_job_secret(variables({{"PLEAT_JOB_SECRET", ""}})).is_known_to_all());
}

TEST(FindJobSecret, TheVariableAndTheFileGiveTheSame) {
  const JobSecret by_variable = find_job_secret(variables({{"PLEAT_JOB_SECRET", kText}}));
  const JobSecret by_file =
      find_job_secret(variables({{"PLEAT_JOB_SECRET_FILE", file_with(kText + "\n", 0600)}}));
  EXPECT_FALSE(by_variable.is_known_to_all());
  EXPECT_EQ(by_variable.key(), by_file.key());
  EXPECT_NE(by_variable.key(), JobSecret().key());
}

TEST(FindJobSecret, RefusalsNameTheVariableAndShowNothing) {
  EXPECT_THAT(refusal({{"PLEAT_JOB_SECRET", "short"}}),
              HasSubstr("the job's secret has 5 characters, at least 32 are needed"));
  EXPECT_THAT(refusal({{"PLEAT_JOB_SECRET", kText}, {"PLEAT_JOB_SECRET_FILE", "/x"}}),
              HasSubstr("unset one of them"));
  for (const mode_t mode : {0640, 0604, 0660, 0644}) {
    EXPECT_THAT(refusal({{"PLEAT_JOB_SECRET_FILE", file_with(kText, mode)}}),
                HasSubstr("others than its owner may use it"));
  }
  EXPECT_THAT(refusal({{"PLEAT_JOB_SECRET_FILE", "/nowhere/secret"}}),
              HasSubstr("No such file or directory"));
  EXPECT_THAT(refusal({{"PLEAT_JOB_SECRET_FILE", "/tmp"}}), HasSubstr("is no plain file"));
  EXPECT_THAT(refusal({{"PLEAT_JOB_SECRET_FILE", file_with(std::string(5000, 'x'), 0600)}}),
              HasSubstr("is larger than 4096 bytes"));
  EXPECT_THAT(refusal({{"PLEAT_JOB_SECRET_FILE", file_with("", 0600)}}),
              HasSubstr("has 0 characters"));
  EXPECT_THAT(refusal({{"PLEAT_JOB_SECRET", "hunter2"}}), Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace pleat
