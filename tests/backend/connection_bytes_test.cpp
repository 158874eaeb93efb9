// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What comes over a connection, without one: handshakes, messages with tags, and what they mean.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "backend/comm/called_handshake.hpp"
#include "backend/comm/mesh_message.hpp"
#include "backend/comm/message_reader.hpp"
#include "backend/comm/store_message.hpp"

namespace pleat {
namespace {

const JobSecret& secret() {
  static const JobSecret known("a secret for this test");
  return known;
}

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

// As a socket would give them, `at_most` at a time; what the last of them led to.
template <class Header>
Arrived give(MessageReader<Header>& reader, std::span<const std::byte> data, std::size_t at_most) {
  Arrived arrived = Arrived::part;
  while (!data.empty()) {
    EXPECT_EQ(arrived, Arrived::part);
    const std::span<std::byte> room = reader.room();
    const std::size_t n = std::min({room.size(), data.size(), at_most});
    std::copy_n(data.begin(), n, room.begin());
    data = data.subspan(n);
    arrived = reader.took(n);
    if (arrived == Arrived::broken) break;
  }
  return arrived;
}

TEST(MessageReader, MessagesArriveHoweverTheyAreCut) {
  for (const std::size_t at_most : {1U, 7U, 4096U}) {
    MessageTags sends(secret().key());
    MessageReader<QuestionHeader> reader{MessageTags(secret().key())};
    for (const char* value : {"", "500", "a longer one than that"}) {
      const std::string wire = to_wire(StoreQuestion{StoreOp::get, "process/1", value}, sends);
      ASSERT_EQ(give(reader, std::as_bytes(std::span(wire)), at_most), Arrived::message);
      const StoreQuestion q = read_question(reader.header(), reader.payload());
      EXPECT_EQ(q.op, StoreOp::get);
      EXPECT_EQ(q.key, "process/1");
      EXPECT_EQ(q.value, value);
    }
  }
}

TEST(MessageReader, EveryChangedByteBreaksIt) {
  const std::string wire = [] {
    MessageTags sends(secret().key());
    return to_wire(StoreQuestion{StoreOp::set, "process/1", "here"}, sends);
  }();
  for (std::size_t at = 0; at < wire.size(); ++at) {
    std::string changed = wire;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    MessageReader<QuestionHeader> reader{MessageTags(secret().key())};
    EXPECT_EQ(give(reader, std::as_bytes(std::span(changed)), 4096), Arrived::broken) << at;
  }
}

TEST(MessageReader, NoRoomIsMadeForWhatIsNeverSent) {
  MeshHeader header;
  header.bytes = std::uint64_t{1} << 40;
  MessageTags sends(secret().key());
  const Tags tags = sends.make(bytes_of(header), {});
  MessageReader<MeshHeader> reader{MessageTags(secret().key())};
  EXPECT_EQ(give(reader, bytes_of(header), 4096), Arrived::part);
  EXPECT_EQ(give(reader, bytes_of(tags), 4096), Arrived::broken);
}

TEST(CalledHandshake, WhoKnowsTheSecretIsShownAndNothingMoreIsTaken) {
  using Step = CalledHandshake::Step;
  const Wanted wanted{Purpose::mesh, 3, 7};
  const auto give_all = [&](CalledHandshake& h, std::span<const std::byte> data) {
    Step step = Step::waits;
    for (const std::byte b : data) {
      EXPECT_EQ(step, Step::waits);
      h.room()[0] = b;
      step = h.took(1, wanted, secret());
    }
    return step;
  };
  Hello hello;
  hello.purpose = Purpose::mesh;
  hello.from = 5;
  hello.to = 3;
  hello.epoch = 7;
  hello.nonce = new_nonce();
  CalledHandshake called;
  EXPECT_FALSE(called.has_greeted());
  ASSERT_EQ(give_all(called, bytes_of(hello)), Step::says);
  EXPECT_TRUE(called.has_greeted());
  Challenge challenge;
  ASSERT_EQ(called.reply().size(), sizeof challenge);
  std::memcpy(&challenge, called.reply().data(), sizeof challenge);
  const Proof proof = callers_proof(secret(), hello, challenge.nonce);
  ASSERT_EQ(give_all(called, proof), Step::shown);
  EXPECT_TRUE(called.room().empty());
  EXPECT_EQ(called.from(), 5);
  Session here = callers_session(secret(), hello, challenge.nonce);
  const Tags tags = here.sends.make(proof, {});
  EXPECT_TRUE(called.session(secret()).receives.fits_header(proof, tags));
}

std::optional<MeshNews> news(MeshHeader header, std::string_view payload) {
  header.bytes = payload.size();
  return read_news(header, make_message(std::as_bytes(std::span(payload))), {2, 2, {}}, Rank{0}, 2);
}

TEST(MeshMessage, OnlyRanksOfTheSenderSpeakAndOnlyRanksHereAreSpokenTo) {
  MeshHeader h;
  h.kind = MeshKind::message;
  h.from = 3;
  h.to = 1;
  const auto good = news(h, "data");
  ASSERT_TRUE(good.has_value());
  EXPECT_EQ(std::get<FromRank>(*good).message.size, 4U);
  for (const int from : {1, 4, -1}) {
    h.from = from;
    EXPECT_FALSE(news(h, "data").has_value()) << from;
  }
  h.from = 3;
  for (const int to : {-1, 2, 1 << 30}) {
    h.to = to;
    EXPECT_FALSE(news(h, "data").has_value()) << to;
  }
}

TEST(MeshMessage, ABeatWithoutANumberIsASignOfLifeAllTheSame) {
  MeshHeader h;
  h.kind = MeshKind::beat;
  EXPECT_EQ(std::get<SignOfLife>(*news(h, "abc")).progress, std::nullopt);
  const std::int64_t finished = 12;
  const std::string_view eight(reinterpret_cast<const char*>(&finished), sizeof finished);
  EXPECT_EQ(std::get<SignOfLife>(*news(h, eight)).progress, 12);
  h.kind = static_cast<MeshKind>(99);
  EXPECT_FALSE(news(h, "").has_value());
}

TEST(MeshMessage, PlacesOfRanksAreReadUpToWhatIsNoLine) {
  const std::vector<RankWhere> all{{Rank{2}, "computes 'norm'"}, {Rank{3}, ""}};
  const auto again = read_lines(to_lines(all) + "4 without a tab\n");
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[0].rank, Rank{2});
  EXPECT_EQ(again[0].where, "computes 'norm'");
  EXPECT_EQ(again[1].rank, Rank{3});
}

}  // namespace
}  // namespace pleat
