// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Files that cannot or must not be read are refused at once, with the system's reason.
#include "core/json/text_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace pleat {
namespace {

class TextFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "pleat-text-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

void expect_refused(const std::string& path, ExitCode code, const std::string& message,
                    std::size_t limit = kMaxFileBytes) {
  try {
    (void)read_text_file(path, limit);
    FAIL() << path << " was read";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.exit_code(), code);
    EXPECT_EQ(std::string(error.what()), "error: " + path + ": " + message);
  }
}

TEST_F(TextFile, RoundTrip) {
  const std::string text("a\0b\n", 4);
  write_text_file(at("x"), text);
  EXPECT_EQ(read_text_file(at("x")), text);
  write_text_file(at("x"), "");
  EXPECT_EQ(read_text_file(at("x")), "");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}),
            1);  // nothing partial left
}

TEST_F(TextFile, RefusesWhatIsNoFile) {
  expect_refused(at("missing"), ExitCode::device_or_io, "cannot open: No such file or directory");
  expect_refused(folder_, ExitCode::device_or_io, "cannot read: Is a directory");
  ASSERT_EQ(mkfifo(at("fifo").c_str(), 0600), 0);
  expect_refused(at("fifo"), ExitCode::device_or_io,
                 "cannot read: not a regular file (a FIFO, socket or device)");
  expect_refused("/dev/zero", ExitCode::device_or_io,
                 "cannot read: not a regular file (a FIFO, socket or device)");
}

TEST_F(TextFile, RefusesWhatIsTooLarge) {
  std::ofstream(at("big")) << "12345";
  EXPECT_EQ(read_text_file(at("big"), 5), "12345");
  expect_refused(at("big"), ExitCode::bad_file, "5 bytes; at most 4 are allowed", 4);
  ASSERT_EQ(truncate(at("big").c_str(), off_t{5} << 30), 0);  // sparse: 5 GiB that take no space
  expect_refused(at("big"), ExitCode::bad_file, "5368709120 bytes; at most 16777216 are allowed");
}

TEST_F(TextFile, WriteFailureLeavesNothing) {
  EXPECT_THROW(write_text_file(at("no/such/folder"), "x"), ConfigError);
  std::filesystem::create_directory(at("taken"));
  EXPECT_THROW(write_text_file(at("taken"), "x"), ConfigError);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

}  // namespace
}  // namespace pleat
