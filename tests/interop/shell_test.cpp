// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Scripts that are followed and not run: what the shell would make of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/diagnostics.hpp"
#include "interop/shell_script.hpp"
#include "interop/yaml_text.hpp"

namespace pleat::interop_test {
namespace {

using namespace interop;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The words of the last command.
std::vector<std::string> last_command(const std::string& text, const ShellInput& input = {}) {
  ShellScript script = follow_script(text, input, "run.sh");
  if (script.commands.empty()) return {};
  return script.commands.back().words;
}

TEST(Shell, VariablesDefaultsAndArithmetic) {
  EXPECT_THAT(last_command("A=4\nB=${C:-$((A * 2 + 1))}\nrun $A \"${B}x\" '$A' ${D:+no} ${A:+yes}"),
              ElementsAre("run", "4", "9x", "$A", "yes"));
  EXPECT_THAT(last_command(": \"${TP:=2}\" # comes from outside\nrun $TP ${TP%2}3 ${#TP}"),
              ElementsAre("run", "2", "3", "1"));
  EXPECT_THAT(last_command("PP=${PP:-8}\nrun $PP", {{{"PP", "16"}}, {}, ""}),
              ElementsAre("run", "16"));
  EXPECT_THAT(last_command("shift; run ${1:-no} $2 $#", {{{"1", "a"}, {"2", "b"}}, {}, ""}),
              ElementsAre("run", "a", "b", "2"));
  EXPECT_THAT(last_command("W=$((8 * $N > 32 ? 1 : 0)); run $W", {{{"N", "8"}}, {}, ""}),
              ElementsAre("run", "1"));
  EXPECT_THAT(last_command("x=a/b/c.json\nrun ${x##*/} ${x%/*} ${x/b/B}"),
              ElementsAre("run", "c.json", "a/b", "a/B/c.json"));
}

TEST(Shell, ArraysAreWords) {
  const std::string text = "ARGS=(\n  --a 1 # one\n  --b 'x y'\n  # --c 3\n)\nARGS+=(\"--d 4\")\n";
  EXPECT_THAT(last_command(text + "run \"${ARGS[@]}\""),
              ElementsAre("run", "--a", "1", "--b", "x y", "--d 4"));
  EXPECT_THAT(last_command(text + "run ${ARGS[@]} ${#ARGS[@]}"),
              ElementsAre("run", "--a", "1", "--b", "x", "y", "--d", "4", "5"));
  EXPECT_THAT(last_command("declare -A SIZE=(\n  [small]=\"2 3\" # comment\n  [large]=\"4 5\"\n)\n"
                           "f() { local -n all=$1; local c=(${all[$2]}); export TP=${c[1]}; }\n"
                           "f SIZE large\nrun $TP"),
              ElementsAre("run", "5"));
}

// As bash prints them. Each level is read once: 30 take no time.
TEST(Shell, IndicesNest) {
  const std::string a = "a=(1 5 24)\n";
  EXPECT_THAT(last_command(a + "run ${a[${a[0]}]} ${a[${a[0]}+1]} ${a[${b[0]:-2}]:-7}"),
              ElementsAre("run", "5", "24", "24"));
  std::string deep = "0";
  for (int i = 0; i < 30; ++i) deep = "${a[" + deep + "]:-1}";
  EXPECT_THAT(last_command("a=(0 1)\nrun " + deep), ElementsAre("run", "0"));
}

TEST(Shell, ConditionsCasesAndLoops) {
  const std::string text =
      "if [ -z \"$X\" ]; then A=none; elif [[ $X == b* && $X != bb ]]; then A=b\nelse A=other\nfi\n"
      "case $X in\n  a|b) B=1 ;;\n  *) B=2 ;;\nesac\nrun $A $B";
  EXPECT_THAT(last_command(text), ElementsAre("run", "none", "2"));
  EXPECT_THAT(last_command(text, {{{"X", "b"}}, {}, ""}), ElementsAre("run", "b", "1"));
  EXPECT_THAT(last_command(text, {{{"X", "bb"}}, {}, ""}), ElementsAre("run", "other", "2"));
  EXPECT_THAT(last_command("A=\"\"; for i in 1 2 3; do A=\"$A --x $i\"; done\nrun $A"),
              ElementsAre("run", "--x", "1", "--x", "2", "--x", "3"));
  EXPECT_THAT(last_command("[ 3 -gt 2 ] && A=yes || A=no\n[ -f none ] || B=new\nrun $A $B"),
              ElementsAre("run", "yes", "new"));
  EXPECT_THAT(last_command("(( 2 > 3 )) && A=1\nwhile read -r x; do A=2; done\nrun ${A:-0}"),
              ElementsAre("run", "0"));
}

// A variable that one command is given is not there for the next one, nor is what a script sets
// that has a process of its own.
TEST(Shell, FilesFunctionsAndJobsThatScriptsMake) {
  const ShellInput input{{},
                         {{"job.sh",
                           "A=\"--mode $MODE $@\"\nexport CMD=\"python t.py $A\"\n"
                           "sbatch <<EOF\n#SBATCH --nodes=$N\n"
                           "srun -l bash -c \\\\\\${CMD} 2>&1 | tee log\nEOF\n"},
                          {"common.conf", "N=${N:-2}\n"}},
                         ""};
  ShellScript script = follow_script(
      "source conf/common.conf\nMODE=a bash ./job.sh --x 1\nMODE=b N=4 bash job.sh --y '2 3' \\\n"
      "  --z\n",
      input, "run.sh");
  std::erase_if(script.commands, [](const auto& c) { return c.words.front() != "srun"; });
  ASSERT_THAT(script.commands, SizeIs(2));  // beside sbatch and tee
  EXPECT_THAT(script.commands[0].words,
              ElementsAre("srun", "-l", "python", "t.py", "--mode", "a", "--x", "1"));
  EXPECT_THAT(script.commands[0].job, ::testing::HasSubstr("--nodes=2\n"));
  EXPECT_THAT(script.commands[1].words,
              ElementsAre("srun", "-l", "python", "t.py", "--mode", "b", "--y", "2", "3", "--z"));
  EXPECT_THAT(script.commands[1].job, ::testing::HasSubstr("--nodes=4\n"));
}

TEST(Shell, WhatIsNotKnownKeepsItsName) {
  const auto words = last_command("run --tp $TP --n `nproc` --gpus $(seq 1 8) --x pre-${Q}");
  ASSERT_THAT(words, SizeIs(9));
  EXPECT_EQ(unknown_part(words[2]), "TP");
  EXPECT_EQ(unknown_part(words[4]), "output-of-nproc");
  EXPECT_EQ(unknown_part(words[6]), "output-of-seq");
  EXPECT_EQ(known_part(words[8]), "pre-");
  EXPECT_EQ(unknown_part("plain"), "");
}

TEST(Shell, NothingIsRunAndEverythingEnds) {
  EXPECT_THAT(last_command("touch pwned; $(touch pwned) `touch pwned`\n"), SizeIs(2));
  for (const char* endless : {"f() { f; }; f",
                              "a=x; for i in 1 2 3 4 5 6 7 8 9; do for j in 1 2 3 4 5 6 7 8 9; do "
                              "for k in 1 2 3 4 5 6 7 8 9; do a=$a$a; done; done; done",
                              "eval 'eval \"$x\"'", "x='eval \"$x\"'; eval \"$x\""}) {
    try {
      static_cast<void>(follow_script(endless, {}, "run.sh"));
    } catch (const ConfigError& e) {
      EXPECT_EQ(e.exit_code(), ExitCode::bad_file);
    }
  }
  for (const char* broken : {"if", "if [ a", "case x in", "for", "f() {", "a=(", "\"", "$(", "${",
                             "<<EOF\nx", "((", "}", "fi", ";;", ")", "[[ a", "a=(x", "`", "$((1+"})
    EXPECT_NO_THROW(static_cast<void>(follow_script(broken, {}, "run.sh"))) << broken;
}

// Each line doubles what there is, in another way.
TEST(Shell, WhatGrowsWithoutEndIsRefused) {
  const auto lines = [](const std::string& line) {
    std::string text;
    for (int i = 0; i < 40; ++i) text += line + "\n";
    return text;
  };
  const ShellInput files{{}, {{"twice.sh", "bash twice.sh $@ $@\n"}}, ""};
  for (const std::string& text : {
           "A=(x y)\n" + lines("A=(${A[@]} ${A[@]})"),      // words that are cut
           "A='x y'\n" + lines("A=\"$A $A\""),              // one text
           "A=(x y)\n" + lines("A+=(\"${A[@]}\")"),         // an array's end
           "A='x y'\n" + lines("A=${A//y/x y x y}"),        // what is replaced
           "A='x y'\n" + lines("for i in $A; do A+=' i'; done"),
           std::string("f() { f $@ $@; }\nf x y"),          // arguments of a call
           std::string("bash twice.sh x y"),                // of a shell of its own
           "A='x y'\n" + lines("A=\"$A $A\"; eval \"$A\""),  // a script
       }) {
    try {
      static_cast<void>(follow_script(text, files, "run.sh"));
      ADD_FAILURE() << text.substr(0, 80);
    } catch (const ConfigError& e) {
      EXPECT_THAT(e.what(), ::testing::HasSubstr("without end")) << text.substr(0, 80);
    }
  }
}

TEST(Shell, AVariableOfOneCommandIsWhatItWasBefore) {
  EXPECT_THAT(last_command("A=1\nA=2 A=3 other\nrun $A"), ElementsAre("run", "1"));
}

TEST(Yaml, MappingsListsQuotesAndComments) {
  const JsonValue y = read_yaml(
      "A:\n  --x: 1 # one\n  --y: \"a # b\"\n  --z: [p, 'q r']\nB:\n- u\n- v: 1\n  w: 2\n"
      "C: {k: l}\nD:\n  long text\n  that goes on\n",
      "f.yaml");
  const JsonValue& a = *y.find("A");
  EXPECT_EQ(*a.find("--x")->as_string(), "1");
  EXPECT_EQ(*a.find("--y")->as_string(), "a # b");
  EXPECT_EQ(*a.find("--z")->items()[1].as_string(), "q r");
  EXPECT_EQ(*y.find("B")->items()[1].find("w")->as_string(), "2");
  EXPECT_EQ(*y.find("C")->find("k")->as_string(), "l");
}

TEST(Yaml, OddTextIsRefusedWithItsLine) {
  try {
    static_cast<void>(read_yaml("a: 1\nb: [1, 2\nc: 3\n", "f.yaml"));
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::bad_file);
    EXPECT_THAT(e.what(), ::testing::HasSubstr("f.yaml:3: "));
  }
  EXPECT_THROW(static_cast<void>(read_yaml(std::string(200, '['), "f")), ConfigError);
  // Each line holds the one before ten times.
  std::string bomb = "a0: &a0 x\n";
  for (int i = 1; i < 12; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int n = 0; n < 10; ++n) bomb += (n ? ", *a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  EXPECT_THROW(static_cast<void>(read_yaml(bomb, "f")), ConfigError);
  EXPECT_THAT(read_yaml("# nothing\n", "f").members(), IsEmpty());
}

}  // namespace
}  // namespace pleat::interop_test
