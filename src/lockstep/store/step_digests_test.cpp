#include "lockstep/store/step_digests.h"

#include <array>

#include "lockstep/base/error.h"
#include "lockstep/store/store.h"
#include "lockstep/store/store_fixture.h"

namespace lockstep::store {
namespace {

TEST_F(StoreTest, KeepsOneDigestOfARunUntilTheRunIsDeleted) {
  RunWriter writer(path());
  writer.write(started());
  writer.write(record::RunEnded{record::RunStatus::kDone, 1, 10, 0, ""});
  EXPECT_EQ(Store(path()).step_digest(1, "a"), std::nullopt);
  keep_step_digest(path(), 1, "a", "old");
  keep_step_digest(path(), 1, "b", "new");
  EXPECT_EQ(Store(path()).step_digest(1, "a"), std::nullopt);
  EXPECT_EQ(Store(path()).step_digest(1, "b"), "new");
  Store(path()).remove(std::array<std::int64_t, 1>{1});
  EXPECT_EQ(Store(path()).step_digest(1, "b"), std::nullopt);
}

TEST_F(StoreTest, KeepsNoDigestOfARunThatIsNotThere) {
  RunWriter writer(path());
  EXPECT_THROW(keep_step_digest(path(), 7, "a", "text"), Error);
}

TEST_F(StoreTest, CountsStepsOnlyWhereAskedTo) {
  RunWriter writer(path());
  writer.write(started());
  writer.write(steps(0, 3));
  EXPECT_EQ(Store(path()).load(1).steps, 6);
  EXPECT_EQ(Store(path()).load(1, Store::Steps::kNotCounted).steps, 0);
}

}  // namespace
}  // namespace lockstep::store
