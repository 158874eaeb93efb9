// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Layout strings: exact stages, exact messages, bounded expansion.
#include "core/plan/layout.hpp"

#include <gtest/gtest.h>

#include "core/diagnostics.hpp"
#include "core/plan/plan.hpp"
#include "core/spec/model.hpp"

namespace pleat {
namespace {

struct Failure {
  ExitCode code = ExitCode::done;
  std::vector<std::string> messages;
};

Failure failure_of(const std::string& layout, std::int64_t layers, bool mtp, int pp, int vpp) {
  try {
    static_cast<void>(parse_layout(layout, layers, mtp, pp, vpp));
  } catch (const ConfigError& e) {
    Failure f{e.exit_code(), {}};
    for (const Diagnostic& d : e.diagnostics()) {
      EXPECT_EQ(d.path, "layout");
      f.messages.push_back(d.message);
    }
    return f;
  }
  return {};
}

void expect_failure(const std::string& layout, std::int64_t layers, bool mtp, int pp, int vpp,
                    const std::vector<std::string>& messages,
                    ExitCode code = ExitCode::bad_request) {
  const Failure f = failure_of(layout, layers, mtp, pp, vpp);
  EXPECT_EQ(f.code, code) << layout;
  EXPECT_EQ(f.messages, messages) << layout;
}

TEST(Layout, MegatronExampleWithStandaloneMtpAndLoss) {
  const auto stages = parse_layout("Et*3|(tt|)*29m|L", 61, true, 16, 2);
  ASSERT_EQ(stages.size(), 32u);
  EXPECT_EQ(stages[0], (VirtualStage{.embedding = true, .first_layer = 0, .layers = 3}));
  EXPECT_EQ(stages[1], (VirtualStage{.first_layer = 3, .layers = 2}));
  EXPECT_EQ(stages[29], (VirtualStage{.first_layer = 59, .layers = 2}));
  EXPECT_EQ(stages[30], (VirtualStage{.first_layer = 61, .layers = 0, .mtp = true}));
  EXPECT_EQ(stages[31], (VirtualStage{.first_layer = 61, .layers = 0, .loss = true}));
}

TEST(Layout, RepeatsInsideGroupsAndEndStage) {
  const auto stages = parse_layout("Et*4|(t*4|)*14tmL", 61, true, 4, 4);
  ASSERT_EQ(stages.size(), 16u);
  EXPECT_EQ(stages[15],
            (VirtualStage{.first_layer = 60, .layers = 1, .mtp = true, .loss = true}));
}

TEST(Layout, CommasAreIgnoredEverywhere) {
  EXPECT_EQ(parse_layout("E,t,t|,(t|,)*,2,tL,", 5, false, 4, 1),
            parse_layout("Ett|(t|)*2tL", 5, false, 4, 1));
}

TEST(Layout, GroupMayCrossStages) {  // (ab)*3 = ababab on symbols, not on stages
  EXPECT_EQ(parse_layout("E(t|t)*2L", 4, false, 3, 1), parse_layout("Et|tt|tL", 4, false, 3, 1));
}

TEST(Layout, BarRepeatMakesEmptyStages) {
  const auto stages = parse_layout("Et|*3L", 1, false, 4, 1);
  ASSERT_EQ(stages.size(), 4u);
  EXPECT_EQ(stages[2], (VirtualStage{.first_layer = 1, .layers = 0}));
}

TEST(Layout, ExpansionIsBoundedBeforeExpanding) {
  const std::vector<std::string> too_long{"expanded layout longer than 100000"};
  expect_failure("t*1000000000", 61, false, 1, 1, too_long, ExitCode::bad_file);
  expect_failure("(t*1000|)*1000", 61, false, 1, 1, too_long, ExitCode::bad_file);
  expect_failure("t*99999999999999999999999999999999", 61, false, 1, 1, too_long,
                 ExitCode::bad_file);
  expect_failure(std::string(100'001, 't'), 61, false, 1, 1, too_long, ExitCode::bad_file);
  // The limit itself is allowed: E + 99998 t + L.
  EXPECT_EQ(parse_layout("Et*99998L", 99'998, false, 1, 1).at(0).layers, 99'998);
  expect_failure("Et*99999L", 99'999, false, 1, 1, too_long, ExitCode::bad_file);
}

TEST(Layout, SyntaxErrorsNameThePosition) {
  expect_failure("Et*|L", 1, false, 2, 1, {"'*' needs a count at position 3"});
  expect_failure("Et*0L", 1, false, 1, 1, {"a repeat count must be at least 1 at position 3"});
  expect_failure("Et*-3L", 1, false, 1, 1, {"'*' needs a count at position 3"});
  expect_failure("*3E", 1, false, 1, 1, {"'*' must follow a symbol or a group at position 1"});
  expect_failure("Et*2*3L", 1, false, 1, 1, {"'*' must follow a symbol or a group at position 5"});
  expect_failure("E(tL", 1, false, 1, 1, {"'(' without ')' at position 2"});
  expect_failure("Et)L", 1, false, 1, 1, {"')' without '(' at position 3"});
  expect_failure("E(t(t)*2)*2L", 1, false, 1, 1, {"groups do not nest at position 4"});
  expect_failure("E()*2L", 1, false, 1, 1, {"an empty group at position 2"});
  expect_failure("E(t)L", 1, false, 1, 1, {"a group needs a count: (…)*n at position 2"});
  expect_failure("Etx|L", 1, false, 1, 1,
                 {"unknown symbol; known: E t m L | ( ) * , at position 3"});
  expect_failure(std::string("Et\0L", 4), 1, false, 1, 1,
                 {"unknown symbol; known: E t m L | ( ) * , at position 3"});
}

TEST(Layout, MissingLossNamesPositionAndCount) {
  expect_failure("Et*3|tt", 5, false, 2, 1,
                 {"no L (loss): the layout ends at position 7 after 5 decoder layers"});
}

TEST(Layout, WrongLayerCountNamesBothCountsAndPosition) {
  expect_failure("Et*30|t*30L", 61, false, 2, 1,
                 {"60 decoder layers (t), the model has 61; the last t is at position 7"});
  expect_failure("E|L", 4, false, 2, 1, {"no decoder layer (t), the model has 4"});
}

TEST(Layout, AllFaultsAtOnce) {
  expect_failure("t|tE|L", 3, true, 2, 2,
                 {"E (embedding) at position 4 is not the first symbol",
                  "2 decoder layers (t), the model has 3; the last t is at position 3",
                  "3 virtual stages, but PP*VPP = 2*2 = 4; the last | is at position 5",
                  "no m (multi-token prediction), but the model has an MTP block"});
  expect_failure("", 1, false, 1, 1,
                 {"no E (embedding) at position 1",
                  "no L (loss): the layout ends at position 0 after 0 decoder layers",
                  "no decoder layer (t), the model has 1"});
}

TEST(Layout, LossMustComeLastAndOnce) {
  expect_failure("EtL|t", 2, false, 2, 1, {"L (loss) at position 3 is not the last symbol"});
  expect_failure("EtL|tL", 2, false, 2, 1, {"L (loss) at position 3 is not the last symbol"});
  expect_failure("EE*2tL", 1, false, 1, 1, {"E (embedding) at position 2 is not the first symbol"});
}

TEST(Layout, MtpRules) {
  expect_failure("EtmL", 1, false, 1, 1,
                 {"m (multi-token prediction) at position 3, but the model has no MTP block"});
  expect_failure("Et|mt|L", 2, true, 3, 1,
                 {"t at position 5 follows an m: MTP comes after all decoder layers"});
  expect_failure("Et|m|mL", 1, true, 3, 1,
                 {"m at position 6 is in another virtual stage than the first m"});
  expect_failure("Etm|||L", 1, true, 2, 2,
                 {"m at position 3 is in chunk 0 of its rank; MTP must be in the last, 1"});
  EXPECT_NO_THROW(static_cast<void>(parse_layout("Et||m|L", 1, true, 2, 2)));
}

TEST(EvenLayout, DividesEvenly) {
  EXPECT_EQ(to_layout_string(even_layout(60, false, 4, 5)), "Et*3|(t*3|)*18t*3L");
  EXPECT_EQ(to_layout_string(even_layout(4, false, 1, 1)), "Et*4L");
  EXPECT_EQ(to_layout_string(even_layout(2, true, 2, 1)), "Et|tmL");
}

TEST(EvenLayout, EmbeddingAndLossCountAsLayers) {  // Llama-3.1-405B: 126 + 2 = 128
  EXPECT_EQ(to_layout_string(even_layout(126, false, 16, 8)), "E|(t|)*126L");
  EXPECT_EQ(to_layout_string(even_layout(30, false, 8, 1)), "Et*3|(t*4|)*6t*3L");
}

TEST(EvenLayout, RemainderGoesToTheStagesAfterTheFirst) {
  EXPECT_EQ(to_layout_string(even_layout(61, false, 16, 1)), "Et*3|(t*4|)*13t*3|t*3L");
  EXPECT_EQ(to_layout_string(even_layout(5, false, 3, 1)), "Et|tt|ttL");
  EXPECT_EQ(to_layout_string(even_layout(2, false, 5, 1)), "E|(t|)*2|L");
}

TEST(EvenLayout, AlwaysReparsesToTheSame) {
  for (const bool mtp : {false, true}) {
    for (std::int64_t layers = 1; layers <= 40; ++layers) {
      for (int pp = 1; pp <= 9; ++pp) {
        for (int vpp = 1; vpp <= 4; ++vpp) {
          const auto stages = even_layout(layers, mtp, pp, vpp);
          EXPECT_EQ(parse_layout(to_layout_string(stages), layers, mtp, pp, vpp), stages);
        }
      }
    }
  }
}

TEST(LayoutString, KeepsMegatronsForm) {
  for (const char* text : {"Et*3|(tt|)*29m|L", "Et*4|(t*4|)*14tmL", "Et|(tt|)*30mL", "EtL"}) {
    const std::string layout = text;
    const bool mtp = layout.find('m') != std::string::npos;
    const std::int64_t layers = layout == "EtL" ? 1 : 61;
    const int stages = layout == "EtL" ? 1 : layout.find("14") != std::string::npos ? 16 : 32;
    EXPECT_EQ(to_layout_string(parse_layout(layout, layers, mtp, stages, 1)), layout);
  }
}

TEST(StageLayout, UsesThePlansLayoutOrTheEvenOne) {
  ModelSpec model;
  model.layers = 5;
  Plan plan;
  plan.attention.pp = 2;
  EXPECT_EQ(to_layout_string(stage_layout(plan, model)), "Ett|t*3L");
  plan.layout = "Et*4|tL";
  EXPECT_EQ(stage_layout(plan, model).at(0).layers, 4);
  model.mtp_layers = 1;
  EXPECT_THROW(static_cast<void>(stage_layout(plan, model)), ConfigError);
}

}  // namespace
}  // namespace pleat
