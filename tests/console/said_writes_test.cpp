// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Where writes are only said, folders are neither made nor missed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "console/write_file.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

TEST(SaidWrites, LeaveNoFolder) {
  const std::string folder = ::testing::TempDir() + "/said_writes_test";
  std::filesystem::remove_all(folder);
  EXPECT_THROW(require_writable(folder + "/plan.json"), ConfigError);
  only_say_writes();
  make_folder(folder);
  ::testing::internal::CaptureStderr();
  write_file(folder + "/plan.json", "a\nb\n");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::HasSubstr("would write " + folder + "/plan.json (2 lines)\n"));
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_THROW(require_writable(folder + "/other/plan.json"), ConfigError);
}

}  // namespace
}  // namespace pleat
