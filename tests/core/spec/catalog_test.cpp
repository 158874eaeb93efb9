// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Finding configs by name and by path, and the newest profile, in directories of the test's own.
#include "core/spec/catalog.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "core/diagnostics.hpp"
#include "core/environment.hpp"
#include "core/json/text_file.hpp"

namespace pleat {
namespace {

namespace fs = std::filesystem;

class Catalog : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "pleat-catalog-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::create_directories(folder_ / "configs" / "profiles");
    fs::create_directories(folder_ / "cache" / "profiles");
    setenv("PLEAT_CONFIG_DIR", (folder_ / "configs").c_str(), 1);
    setenv("PLEAT_CACHE_DIR", (folder_ / "cache").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("PLEAT_CONFIG_DIR");
    unsetenv("PLEAT_CACHE_DIR");
    fs::remove_all(folder_);
  }
  void add_profile(const std::string& where, const std::string& name, Runtime runtime,
                   const std::string& created) {
    Profile p = datasheet_profile("c", 1, runtime);
    p.name = name;
    p.created = created;
    write_text_file((folder_ / where / "profiles" / (name + ".json")).string(), write_profile(p));
  }

  fs::path folder_;
};

TEST_F(Catalog, NewestProfileOfClusterAndRuntime) {
  EXPECT_FALSE(find_newest_profile("c", Runtime::pleat).has_value());
  add_profile("configs", "old", Runtime::pleat, "2026-01-01");
  add_profile("cache", "new", Runtime::pleat, "2026-11-21");
  add_profile("configs", "middle", Runtime::pleat, "2026-05-05");
  add_profile("configs", "other", Runtime::megatron, "2026-12-31");
  EXPECT_EQ(find_newest_profile("c", Runtime::pleat)->profile.name, "new");
  EXPECT_EQ(find_newest_profile("c", Runtime::megatron)->profile.name, "other");
  EXPECT_FALSE(find_newest_profile("d", Runtime::pleat).has_value());
  EXPECT_EQ(fitted_profile_path("new"), find_newest_profile("c", Runtime::pleat)->path);
  EXPECT_EQ(config_names(ConfigKind::profile),
            (std::vector<std::string>{"middle", "new", "old", "other"}));
}

TEST_F(Catalog, UnknownNameInAnEmptyDirectory) {
  try {
    (void)load_model("anything");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::bad_request);
    EXPECT_NE(std::string(error.what()).find("none in "), std::string::npos) << error.what();
  }
}

TEST(ShippedCatalog, UnknownNameGetsASuggestionAndTheList) {
  try {
    (void)load_model("deepseek-3");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::bad_request);
    const std::string count = std::to_string(config_names(ConfigKind::model).size());
    EXPECT_EQ(std::string(error.what()),
              "error: --model: no model named \"deepseek-3\"; did you mean deepseek-v3?\n"
              "  hint: `pleat models` lists the " +
                  count + " there are, or the path of a .json file");
  }
}

TEST(ShippedCatalog, CaseAndPunctuationOfANameDoNotCount) {
  EXPECT_EQ(load_model("Llama-3.1-405B").model, load_model("llama3.1-405b").model);
  EXPECT_EQ(load_model("llama-3-8b").model.name, "llama3-8b");
  EXPECT_NE(load_model("gpt-oss-20b").model, load_model("gpt-oss-120b").model);
}

TEST(ShippedCatalog, PathsAndNames) {
  const std::string path = config_path(ConfigKind::model, "tiny-moe");
  EXPECT_EQ(path, config_directory() + "/models/tiny-moe.json");
  EXPECT_EQ(load_model(path).model, load_model("tiny-moe").model);
  try {
    (void)load_model("no/such/config.json");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::device_or_io);
    EXPECT_EQ(std::string(error.what()),
              "error: no/such/config.json: cannot open: No such file or directory");
  }
}

}  // namespace
}  // namespace pleat
