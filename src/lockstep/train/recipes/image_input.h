#pragma once

#include <memory>
#include <string>

#include "lockstep/data/augment/affine.h"
#include "lockstep/data/files/image_folder.h"
#include "lockstep/record/run_spec.h"

namespace lockstep::train {

// What recipes on folders of images have in common.

inline const data::Normalisation kFashionNormalisation{{0.2860F}, {0.3530F}};
inline const data::Normalisation kCifarNormalisation{{0.4914F, 0.4822F, 0.4465F},
                                                     {0.2023F, 0.1994F, 0.2010F}};
inline const data::Normalisation kImageNetNormalisation{{0.485F, 0.456F, 0.406F},
                                                        {0.229F, 0.224F, 0.225F}};
/// To [-1, 1].
inline const data::Normalisation kSymmetricNormalisation{{0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F}};

/// --image-size: "64", "66x200" (height x width) or "1x28x28" (channels first). `usual` when it is
/// not given. Throws kUsage for anything else.
data::ImageShape image_shape(const record::RecipeOptions& options, data::ImageShape usual);

/// --validation, 0.2 unless given.
double validation_part(const record::RecipeOptions& options);

/// Throws kData, saying what is needed, when --data was not given.
void require_source(const record::RunSpec& spec, const std::string& what);

/// Reads a folder of images; the split reports what was skipped.
data::DataSplit load_images(const record::RunSpec& spec, data::ImageShape shape, bool classes,
                            double validation);

/// How many classes there are. Throws kUsage when --classes names another number.
int class_count(const record::RecipeOptions& options, const data::DatasetInfo& info);

/// --rotate, --zoom, --shift-x, --shift-y, --flip around `usual`, where `augment`; else only the
/// normalisation.
std::shared_ptr<const data::Transform> image_transform(const record::RecipeOptions& options,
                                                       data::AffineOptions usual, bool augment);

}  // namespace lockstep::train
