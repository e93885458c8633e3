#include "lockstep/data/dataset.h"

namespace lockstep::data {

record::DataFacts DataSplit::facts() const {
  const DatasetInfo& info = train->info();
  return {.name = info.name,
          .path = info.path,
          .synthetic = info.synthetic,
          .train_examples = train->size(),
          .val_examples = validation ? validation->size() : 0,
          .skipped = skipped};
}

}  // namespace lockstep::data
