#include "lockstep/import/model/offer_stated.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace lockstep::import {
namespace {

const StatedFact* fact_of(const std::vector<StatedFact>& facts, FactKey key) {
  for (const StatedFact& fact : facts) {
    if (fact.key == key) return &fact;
  }
  return nullptr;
}

}  // namespace

std::int64_t stated_number(const std::vector<StatedFact>& facts, FactKey key) {
  const StatedFact* fact = fact_of(facts, key);
  return fact == nullptr ? 0 : fact->number;
}

/// The worker count as stated, or 0. Tasks of Slurm are workers only where nothing else is stated:
/// torchrun has one task per node.
std::int64_t stated_workers(const std::vector<StatedFact>& facts) {
  if (const auto world = stated_number(facts, FactKey::kWorldSize); world > 0) return world;
  const std::int64_t nodes = std::max<std::int64_t>(stated_number(facts, FactKey::kNodes), 1);
  if (const auto each = stated_number(facts, FactKey::kDevicesPerNode); each > 0)
    return nodes * each;
  return stated_number(facts, FactKey::kDevices);
}

void offer_stated(const std::vector<StatedFact>& facts, ImportedRun& run) {
  const std::int64_t each = stated_number(facts, FactKey::kBatchPerWorker);
  const std::int64_t whole = stated_number(facts, FactKey::kGlobalBatch);
  const std::int64_t accumulated = stated_number(facts, FactKey::kAccumulate);
  if (accumulated > 0) run.accumulate.offer(accumulated);
  run.steps_may_be_small = accumulated > 1;
  const std::int64_t share = each * std::max<std::int64_t>(accumulated, 1);
  run.may_split_model = run.may_split_model || stated_number(facts, FactKey::kSplit) > 1;
  if (const auto workers = stated_workers(facts); workers > 0) {
    run.workers.offer(workers);
  } else if (share > 0 && whole >= share && whole % share == 0) {
    // Of a model that is split these are the replicas, not the devices.
    if (!run.may_split_model) run.workers.offer(whole / share, Provenance::kDerived);
  } else if (const auto tasks = stated_number(facts, FactKey::kTasks); tasks > 0) {
    run.workers.offer(tasks, Provenance::kDerived);
  }
  if (const auto nodes = stated_number(facts, FactKey::kNodes); nodes > 0) run.nodes.offer(nodes);
  if (each > 0) run.batch_per_worker.offer(each);
  if (whole > 0) run.global_batch.offer(whole);
  if (const auto batch = stated_number(facts, FactKey::kBatch); batch > 0) run.batch_said = batch;
  if (const auto epochs = stated_number(facts, FactKey::kEpochs); epochs > 0)
    run.epochs_planned.offer(epochs);
  if (const auto steps = stated_number(facts, FactKey::kSteps); steps > 0)
    run.steps_per_epoch.offer(steps);
  const auto offer = [&](FactKey key, Fact<std::string>& fact) {
    if (const StatedFact* stated = fact_of(facts, key)) fact.offer(stated->text);
  };
  offer(FactKey::kDevice, run.device);
  offer(FactKey::kModel, run.model);
  offer(FactKey::kDataset, run.dataset);
  const auto note = [&](FactKey key, const char* name) {
    if (const StatedFact* stated = fact_of(facts, key)) run.notes[name] = stated->text;
  };
  note(FactKey::kPrecision, "precision");
  note(FactKey::kOptimizer, "optimizer");
  note(FactKey::kHeading, "heading");
  if (const StatedFact* loaders = fact_of(facts, FactKey::kLoaderWorkers))
    run.notes["loader"] = fmt::format("{} loader workers", loaders->number);
}

}  // namespace lockstep::import
