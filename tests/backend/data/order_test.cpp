// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The sample order that numpy gives for GPTDataset's rules, exactly. The goldens' script is
// make_order_goldens.py.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "backend/data/blend.hpp"
#include "backend/data/sample_order.hpp"
#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"
#include "core/json/text_file.hpp"

namespace pleat {
namespace {

const JsonValue::Array& golden(const char* section) {
  static const std::string path = std::string(PLEAT_SOURCE_DIR) + "/tests/backend/data/orders.json";
  static const JsonValue json = parse_json(read_text_file(path), path);
  return json.find(section)->items();
}

std::int64_t integer(const JsonValue& object, const char* key) {
  return *object.find(key)->as_integer();
}

double real(const JsonValue& value) {
  return value.as_double() != nullptr ? *value.as_double()
                                      : static_cast<double>(*value.as_integer());
}

template <class T>
std::vector<T> integers(const JsonValue& list) {
  std::vector<T> values;
  for (const JsonValue& v : list.items()) values.push_back(static_cast<T>(*v.as_integer()));
  return values;
}

TEST(RandomState, ShufflesAsNumpyDoes) {
  for (const JsonValue& c : golden("shuffles")) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(integer(c, "n")));
    std::iota(values.begin(), values.end(), 0);
    RandomState(static_cast<std::uint32_t>(integer(c, "seed"))).shuffle(std::span(values));
    std::int64_t checksum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      checksum =
          (checksum + static_cast<std::int64_t>(i + 1) * values[i]) % (std::int64_t{1} << 61);
    }
    EXPECT_EQ(checksum, integer(c, "checksum")) << values.size();
    values.resize(std::min<std::size_t>(20, values.size()));
    EXPECT_EQ(values, integers<std::int64_t>(*c.find("first")));
  }
}

class Orders : public testing::TestWithParam<int> {
 protected:
  const JsonValue& c_ = golden("orders")[static_cast<std::size_t>(GetParam())];
  std::vector<std::int32_t> lengths_ = integers<std::int32_t>(*c_.find("lengths"));
  SampleOrder order_{lengths_,
                     {{integer(c_, "begin"), integer(c_, "end")},
                      integer(c_, "seq_len"),
                      integer(c_, "samples"),
                      static_cast<std::uint32_t>(integer(c_, "seed"))},
                     "the dataset"};
};

TEST_P(Orders, IndicesAreThoseOfNumpy) {
  EXPECT_EQ(order_.epochs(), integer(c_, "epochs"));
  EXPECT_EQ(order_.last_epoch_apart(), *c_.find("apart")->as_bool());
  EXPECT_EQ(order_.document_index(), integers<std::int32_t>(*c_.find("documents")));
  EXPECT_EQ(order_.shuffle_index(), integers<std::uint32_t>(*c_.find("shuffle")));
  const auto& starts = c_.find("starts")->items();
  ASSERT_EQ(static_cast<std::int64_t>(starts.size()), order_.size() + 1);
  for (std::size_t s = 0; s < starts.size(); ++s) {
    const auto [position, offset] = order_.sample_start(static_cast<std::int64_t>(s));
    EXPECT_EQ((std::vector{position, offset}), integers<std::int64_t>(starts[s])) << s;
  }
}

// Token i of document d is 1000 d + i: reading every sample gives the documents end to end.
TEST_P(Orders, SamplesAreTheDocumentsEndToEnd) {
  std::vector<std::int64_t> line;
  for (const std::int32_t d : order_.document_index()) {
    for (std::int64_t i = 0; i < lengths_[static_cast<std::size_t>(d)]; ++i)
      line.push_back(1000 * d + i);
  }
  const std::int64_t seq_len = integer(c_, "seq_len");
  for (std::int64_t s = 0; s < order_.size(); ++s) {
    std::vector<std::int64_t> tokens;
    for (const Piece& p : order_.pieces(s)) {
      for (std::int64_t i = 0; i < p.length; ++i)
        tokens.push_back(1000 * p.document + p.offset + i);
    }
    const auto from = line.begin() + order_.shuffle_index()[static_cast<std::size_t>(s)] * seq_len;
    EXPECT_EQ(tokens, std::vector<std::int64_t>(from, from + seq_len + 1)) << s;
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, Orders, testing::Range(0, 10));

TEST(SampleOrder, RefusesDocumentsWithoutTokens) {
  const std::vector<std::int32_t> lengths{5, 0, 1};
  EXPECT_THROW(SampleOrder(lengths, {{1, 3}, 4, 10, 1}, "x"), ConfigError);
  EXPECT_THROW(SampleOrder(lengths, {{1, 1}, 4, 10, 1}, "x"), ConfigError);
  EXPECT_NO_THROW(SampleOrder(lengths, {{0, 1}, 4, 10, 1}, "x"));
}

TEST(Blend, PartsComeInTheGreedyOrder) {
  for (const JsonValue& c : golden("blends")) {
    std::vector<double> weights;
    for (const JsonValue& w : c.find("weights")->items()) weights.push_back(real(w));
    weights = normalized(weights);
    std::int64_t samples = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      EXPECT_EQ(share_of(integer(c, "samples"), weights[i]),
                *c.find("target")->items()[i].as_integer());
      EXPECT_EQ(prepared_for(integer(c, "samples"), weights[i]),
                *c.find("prepared")->items()[i].as_integer());
      samples += share_of(integer(c, "samples"), weights[i]);
    }
    const BlendOrder order(normalized(weights), samples);
    std::vector<std::int64_t> seen(weights.size(), 0);
    const auto parts = integers<int>(*c.find("parts"));
    ASSERT_EQ(order.size(), static_cast<std::int64_t>(parts.size()));
    for (std::int64_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(order.part(i), parts[static_cast<std::size_t>(i)]) << i;
      EXPECT_EQ(order.sample_of_part(i), seen[static_cast<std::size_t>(order.part(i))]++);
    }
    EXPECT_EQ(order.counts(), seen);
  }
}

TEST(Split, DocumentsAreSharedAsPythonRounds) {
  for (const JsonValue& c : golden("splits")) {
    const SplitShares shares = parse_split(*c.find("text")->as_string());
    for (const DataSplit split : {DataSplit::train, DataSplit::valid, DataSplit::test}) {
      const auto expected =
          integers<std::int64_t>(c.find("ranges")->items()[static_cast<std::size_t>(split)]);
      EXPECT_EQ(documents_of(shares, split, integer(c, "documents")),
                (DocumentRange{expected[0], expected[1]}))
          << *c.find("text")->as_string() << " " << name_of(split);
    }
  }
}

TEST(Split, RefusesWhatIsNoShare) {
  for (const char* text : {"", "a,b", "1,-1", "1,1,1,1", "0,0", "1 2", "nan", "inf,1", "1,,1"}) {
    EXPECT_THROW(static_cast<void>(parse_split(text)), ConfigError) << text;
  }
}

TEST(Blend, WordsAreSourcesOrWeightsAndSources) {
  const auto words = [](const std::string& text) {
    std::string all;
    for (const BlendPart& p : parse_blend(text))
      all += p.source + "=" + std::to_string(p.weight) + ";";
    return all;
  };
  EXPECT_EQ(words("A"), "A=0.000000;");
  EXPECT_EQ(words(" A  B "), "A=0.000000;B=0.000000;");
  EXPECT_EQ(words("0.3 A 70 B"), "A=0.300000;B=70.000000;");
  for (const char* text : {"", "  ", "0.3", "0.3 A 0.7", "0.3 A B C", "0 A", "-1 A", "nan A"}) {
    EXPECT_THROW(static_cast<void>(parse_blend(text)), ConfigError) << text;
  }
}

}  // namespace
}  // namespace pleat
