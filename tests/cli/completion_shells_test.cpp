// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Completion in zsh and fish themselves, and in bash as its words are split.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

// A folder with the shell's script and one file, my.json.
std::string folder_of(const std::string& shell) {
  const std::string folder = test_folder() + "/" + shell;
  std::filesystem::create_directories(folder);
  write_text(folder + "/pleat." + shell, run_pleat({"completion", shell}).out);
  write_text(folder + "/my.json", "{}");
  return folder;
}

bool there_is(const std::string& shell) {
  return std::system(("command -v " + shell + " >/dev/null").c_str()) == 0;
}

std::string answer_of(const std::string& folder, const std::string& command) {
  const std::string run =
      "cd '" + folder + "' && HOME='" + folder + "' " + command + " >answer 2>&1";
  EXPECT_EQ(std::system(run.c_str()), 0) << read_text(folder + "/answer");
  return read_text(folder + "/answer");
}

// What the words become, or what is offered; the last of them is begun.
using Cases = std::vector<std::pair<std::string, std::string>>;

TEST(CompletionShells, BashSplitsWordsAtAnEqualsSign) {
  const std::string folder = folder_of("bash");
  const Cases cases{{"plan --objective = t", "throughput time-to-train\n"},
                    {"plan --objective =", "throughput time-to-train cost memory-headroom\n"},
                    {"plan --precision = bf16,mx", "bf16,mxfp8\n"},
                    {"plan --model = my", "my.json\n"}};
  for (const auto& [words, offered] : cases) {
    const std::string ask =
        "bash -c 'source pleat.bash; COMP_WORDS=(pleat " + words +
        "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _pleat; echo \"${COMPREPLY[@]}\"'";
    EXPECT_EQ(answer_of(folder, ask), offered) << words;
  }
}

// One TAB in an interactive shell of its own, on a terminal that zsh itself makes.
constexpr const char* kZshTab = R"(
zmodload zsh/zpty
await() { for ((i = 0; i < 400; ++i)) { [[ -s $1 ]] && return; sleep 0.05 }; return 1 }
rm -f ready line
zpty tab 'zsh -f -i'
zpty -w tab 'autoload -U compinit && compinit -u -D; source ./pleat.zsh
probe() { zle complete-word; print -r -- "$BUFFER" >line }; zle -N probe; )"
R"(bindkey "^I" probe; print 1 >ready'
await ready || exit 1
zpty -n -w tab "$1"$'\t'
await line || exit 1
cat line
zpty -d tab
)";

TEST(CompletionShells, Zsh) {
  if (!there_is("zsh")) GTEST_SKIP() << "zsh is not installed";
  const std::string folder = folder_of("zsh");
  write_text(folder + "/tab.zsh", kZshTab);
  const Cases cases{{"plan --objective ti", "plan --objective time-to-train \n"},
                    {"plan --objective=ti", "plan --objective=time-to-train \n"},
                    {"plan --precision=bf16,mx", "plan --precision=bf16,mxfp8 \n"},
                    {"plan --fp8-p", "plan --fp8-params \n"},
                    {"plan --model ./m", "plan --model ./my.json \n"},
                    {"diff m", "diff my.json \n"}};
  for (const auto& [begun, line] : cases)
    EXPECT_EQ(answer_of(folder, "zsh -f tab.zsh 'pleat " + begun + "'"), "pleat " + line);
}

TEST(CompletionShells, Fish) {
  if (!there_is("fish")) GTEST_SKIP() << "fish is not installed";
  const std::string folder = folder_of("fish");
  const Cases cases{{"plan --objective ti", "time-to-train\n"},
                    {"plan --objective=ti", "--objective=time-to-train\n"},
                    {"plan --precision bf16,mx", "bf16,mxfp8\n"},
                    {"plan --fp8-p", "--fp8-params\n"},
                    {"plan --model ./m", "./my.json\n"},
                    {"diff m", "my.json\n"}};
  for (const auto& [begun, offered] : cases) {
    const std::string ask =
        "fish -c 'source pleat.fish; complete -C \"pleat " + begun + "\" | cut -f1'";
    EXPECT_EQ(answer_of(folder, ask), offered) << begun;
  }
}

}  // namespace
}  // namespace pleat::cli_test
