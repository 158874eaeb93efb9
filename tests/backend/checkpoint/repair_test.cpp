// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Checkpoints in which a tensor stands twice, as models with tied tables once wrote them.
#include "backend/checkpoint/repair.hpp"

#include <gmock/gmock.h>

#include <cstring>

#include "backend/checkpoint/digest.hpp"
#include "core/diagnostics.hpp"
#include "tests/backend/checkpoint/saved_runs.hpp"

namespace pleat {
namespace {

using test::SavedRun;
using test::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ModelSpec tied() {
  ModelSpec m = test::small_moe();
  m.tied_embeddings = true;
  return m;
}

std::string shard_of(const std::string& checkpoint) {
  return checkpoint + "/shard_00000.safetensors";
}

// What the old saver wrote: a second entry of `name` after the first, the same bytes again, and the
// digest of the whole file in the manifest.
void double_tensor(const std::string& checkpoint, const std::string& name,
                   std::ptrdiff_t changed_byte = -1) {
  const Safetensors shard(shard_of(checkpoint), real_files(), DuplicateNames::kept);
  std::vector<TensorEntry> entries;
  std::vector<std::byte> data;
  for (const TensorEntry& t : shard.tensors()) {
    for (int copy = 0; copy < (t.name == name ? 2 : 1); ++copy) {
      entries.push_back(t);
      std::vector<std::byte> bytes = shard.bytes(t);
      if (copy == 1 && changed_byte >= 0)
        bytes[static_cast<std::size_t>(changed_byte)] ^= std::byte{1};
      data.insert(data.end(), bytes.begin(), bytes.end());
    }
  }
  std::string file = make_safetensors_header(entries, shard.metadata());
  file.append(reinterpret_cast<const char*>(data.data()), data.size());
  Manifest manifest = open_checkpoint(checkpoint);
  for (SavedFile& f : manifest.files) {
    if (f.name.ends_with(".safetensors")) {
      f.bytes = file.size();
      f.digest = digest_of(std::as_bytes(std::span(file)));
    }
  }
  test::write_bytes(shard_of(checkpoint), file);
  test::write_bytes(checkpoint + "/manifest.json", write_manifest(manifest));
}

class Repairs : public ::testing::Test {
 protected:
  void SetUp() override {
    SavedRun run{.model = tied(), .steps = 4, .save = folder_.path(), .every = 2};
    (void)run.run();
  }
  std::string older() const { return folder_ / "step_00000002"; }
  std::string newer() const { return folder_ / "step_00000004"; }
  TrainResult goes_on() {
    SavedRun run{.model = tied(), .steps = 6, .load = folder_.path()};
    return run.run();
  }
  TemporaryFolder folder_;
};

TEST_F(Repairs, AWholeCheckpointNeedsNone) {
  EXPECT_THAT(faults_of_checkpoint(newer()), IsEmpty());
  EXPECT_FALSE(plan_repair(newer()).is_needed());
  EXPECT_THROW(write_repaired(newer()), ConfigError);
}

TEST_F(Repairs, EqualCopiesAreMendedToTheBit) {
  const TrainResult expected = goes_on();
  const test::Tensors before = test::tensors_in(newer());
  const std::string shard = test::read_bytes(shard_of(newer()));
  double_tensor(newer(), "weight/embedding");
  double_tensor(newer(), "exp_avg/embedding");
  const std::string broken = test::read_bytes(shard_of(newer()));
  EXPECT_THAT(faults_of_checkpoint(newer()), ElementsAre(HasSubstr("duplicate key")));
  const Repair repair = plan_repair(newer());
  EXPECT_TRUE(repair.is_possible());
  EXPECT_THAT(repair.remedies,
              ElementsAre(HasSubstr("exp_avg/embedding: a second copy of"),
                          HasSubstr("weight/embedding: a second copy of")));
  EXPECT_EQ(test::read_bytes(shard_of(newer())), broken);  // looking changes nothing
  write_repaired(newer());
  EXPECT_THAT(faults_of_checkpoint(newer()), IsEmpty());
  test::expect_same_bits(test::tensors_in(newer()), before);
  EXPECT_EQ(test::read_bytes(shard_of(newer())), shard);
  const TrainResult actual = goes_on();
  test::expect_same_bits(actual.weights, expected.weights);
}

TEST_F(Repairs, AnOlderOneDoesNotBecomeTheLatest) {
  double_tensor(older(), "weight/embedding");
  write_repaired(older());
  EXPECT_THAT(faults_of_checkpoint(older()), IsEmpty());
  EXPECT_EQ(test::read_bytes(folder_ / "LATEST"), "step_00000004\n");
  std::string remark;
  EXPECT_THAT(checkpoints_in(folder_.path(), remark),
              ElementsAre("step_00000004", "step_00000002"));
  EXPECT_EQ(remark, "");
}

TEST_F(Repairs, CopiesThatDifferAreNot) {
  double_tensor(newer(), "weight/embedding", 77);
  const std::string broken = test::read_bytes(shard_of(newer()));
  const Repair repair = plan_repair(newer());
  EXPECT_FALSE(repair.is_possible());
  EXPECT_THAT(repair.hopeless,
              ElementsAre(HasSubstr("weight/embedding: two copies that differ, first in byte 77")));
  EXPECT_THROW(write_repaired(newer()), ConfigError);
  EXPECT_EQ(test::read_bytes(shard_of(newer())), broken);
}

TEST_F(Repairs, BytesThatWereNotSavedAreNot) {
  double_tensor(newer(), "weight/embedding");
  std::string bytes = test::read_bytes(shard_of(newer()));
  bytes.back() ^= 1;
  test::write_bytes(shard_of(newer()), bytes);
  const Repair repair = plan_repair(newer());
  EXPECT_FALSE(repair.is_possible());
  EXPECT_THAT(repair.hopeless, ElementsAre(HasSubstr("its bytes are not those that were saved")));
}

TEST_F(Repairs, FaultsAreNamed) {
  std::filesystem::remove(shard_of(older()));
  EXPECT_THAT(faults_of_checkpoint(older()),
              ElementsAre(HasSubstr("is missing, or no regular file")));
  Manifest manifest = open_checkpoint(newer());
  SavedTensor& tensor = manifest.tensors.at("weight/embedding");
  tensor.elements += 1;
  test::write_bytes(newer() + "/manifest.json", write_manifest(manifest));
  EXPECT_THAT(faults_of_checkpoint(newer()),
              ElementsAre(HasSubstr("weight/embedding: element 2048 is in no shard")));
  test::write_bytes(newer() + "/manifest.json", "{");
  EXPECT_THAT(faults_of_checkpoint(newer()), ElementsAre(HasSubstr("manifest.json")));
}

}  // namespace
}  // namespace pleat
