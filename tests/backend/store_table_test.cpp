// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/store_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pleat {
namespace {

using testing::IsEmpty;

class StoreTableTest : public testing::Test {
 protected:
  bool ask(int client, const StoreQuestion& q) {
    replies_.clear();
    return table_.ask(client, q, now_, replies_);
  }
  // "client status value", in the order they are sent.
  [[nodiscard]] std::vector<std::string> said() const {
    std::vector<std::string> lines;
    for (const StoreReply& r : replies_) {
      lines.push_back(std::to_string(r.client) + " " +
                      static_cast<char>(static_cast<std::uint32_t>(r.answer.status)) + " " +
                      r.answer.value);
    }
    return lines;
  }

  StoreTable table_;
  StoreTable::Replies replies_;
  Deadline now_{};
  int zero_ = table_.join(0), one_ = table_.join(1);
};

TEST_F(StoreTableTest, WhoWaitsForAKeyHearsOfItWhenItIsSet) {
  EXPECT_TRUE(ask(one_, {StoreOp::get, "roster", "500"}));
  EXPECT_THAT(said(), IsEmpty());
  EXPECT_TRUE(ask(zero_, {StoreOp::set, "roster", "7 0 1"}));
  EXPECT_THAT(said(), testing::ElementsAre("0 + 7 0 1", "1 + 7 0 1"));
  EXPECT_EQ(table_.next_deadline(), std::nullopt);
}

TEST_F(StoreTableTest, AKeyThatNobodyWaitsForAnswersNobodyElse) {
  EXPECT_TRUE(ask(zero_, {StoreOp::set, "", "nothing"}));
  EXPECT_THAT(said(), testing::ElementsAre("0 + nothing"));
}

TEST_F(StoreTableTest, TheFirstValueOfAKeyStays) {
  EXPECT_TRUE(ask(one_, {StoreOp::set, "process/1", "here"}));
  EXPECT_TRUE(ask(one_, {StoreOp::set, "process/1", "there"}));
  EXPECT_THAT(said(), testing::ElementsAre("1 = here"));
  EXPECT_FALSE(ask(one_, {StoreOp::set, "process/0", "me"}));
  EXPECT_FALSE(ask(one_, {StoreOp::seal, "", ""}));
  EXPECT_FALSE(ask(one_, {static_cast<StoreOp>('?'), "", ""}));
}

TEST_F(StoreTableTest, WaitingEnds) {
  EXPECT_TRUE(ask(one_, {StoreOp::get, "roster", "500"}));
  EXPECT_EQ(table_.next_deadline(), now_ + std::chrono::milliseconds(500));
  table_.give_up(now_ + std::chrono::milliseconds(499), replies_);
  EXPECT_THAT(said(), IsEmpty());
  table_.give_up(now_ + std::chrono::milliseconds(500), replies_);
  EXPECT_THAT(said(), testing::ElementsAre("1 t "));
  EXPECT_TRUE(ask(one_, {StoreOp::get, "roster", "99999999999999999999 and more"}));
  EXPECT_EQ(table_.next_deadline(), now_) << "no number of milliseconds: it waits for nothing";
}

TEST_F(StoreTableTest, AFailureWithoutWordsIsOne) {
  EXPECT_TRUE(ask(one_, {StoreOp::hello, "process 1", ""}));
  EXPECT_TRUE(ask(zero_, {StoreOp::fail, "", ""}));
  EXPECT_TRUE(table_.must_tell());
  EXPECT_TRUE(ask(one_, {StoreOp::get, "roster", "500"}));
  EXPECT_THAT(said(), testing::ElementsAre("1 - "));
  EXPECT_FALSE(table_.must_tell());
}

TEST_F(StoreTableTest, WhoLeavesBeforeTheSealHasFailed) {
  EXPECT_TRUE(ask(zero_, {StoreOp::get, "process/1", "500"}));
  EXPECT_TRUE(ask(one_, {StoreOp::hello, "process 1 on b", ""}));
  replies_.clear();
  table_.leave(one_, replies_);
  EXPECT_THAT(said(), testing::ElementsAre("0 - process 1 on b left while the job was forming"));
}

TEST_F(StoreTableTest, AfterTheSealClientsMayLeave) {
  EXPECT_TRUE(ask(one_, {StoreOp::hello, "process 1", ""}));
  EXPECT_TRUE(ask(zero_, {StoreOp::seal, "", ""}));
  replies_.clear();
  table_.leave(one_, replies_);
  EXPECT_TRUE(ask(zero_, {StoreOp::get, "roster", "1"}));
  EXPECT_THAT(said(), IsEmpty());
  EXPECT_FALSE(table_.must_tell());
}

}  // namespace
}  // namespace pleat
