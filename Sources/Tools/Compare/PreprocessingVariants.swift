internal import ImagePipeline

/// The usual preprocessings of pictures, with which a wrong one is compared.
enum PreprocessingVariants {
    /// One variant of a step, with its description.
    struct Variant: Sendable {
        let words: String
        let apply: @Sendable (inout ImageTensorSpec) -> Void
    }

    /// The ways to fit a picture to a tensor of this size.
    static func geometries(width: Int, height: Int) -> [Variant] {
        func variant(_ words: String, _ apply: @escaping @Sendable (inout ImageTensorSpec) -> Void) -> Variant {
            Variant(words: words) { spec in
                spec.resizeShorterSide = nil
                spec.resizeExactly = nil
                spec.resizeKeepingShape = nil
                spec.keepsSize = false
                spec.cropAndScale = .centerCrop
                spec.centering = .floor
                spec.alignment = .center
                apply(&spec)
            }
        }
        let side = min(width, height)
        func letterbox(_ words: String, _ level: UInt8, _ alignment: FitAlignment) -> Variant {
            variant(words) {
                $0.cropAndScale = .scaleFit
                $0.alignment = alignment
                $0.fill = RGBColor(red: level, green: level, blue: level)
            }
        }
        var list = [
            variant("\"crop_and_scale\": \"fill\"") { $0.cropAndScale = .scaleFill },
            variant("\"crop_and_scale\": \"center\"") { $0.centering = .halfEven },
            letterbox("\"crop_and_scale\": \"fit\"", 0, .center),
            letterbox("\"crop_and_scale\": \"fit\", \"fill_color\": \"#727272\"", 114, .center),
            letterbox("\"crop_and_scale\": \"fit\", \"fit_alignment\": \"top_left\"", 0, .topLeft),
            variant("\"resize\": \"none\"") { $0.keepsSize = true },
        ]
        for scaled in [side, side * 8 / 7, side * 256 / 224, Int(Double(side) / 0.9), Int(Double(side) / 0.95)] {
            for centering in Centering.allCases {
                list.append(
                    variant("\"resize_shorter_side\": \(scaled), \"centering\": \"\(centering.rawValue)\"") {
                        $0.resizeShorterSide = scaled
                        $0.centering = centering
                    })
            }
        }
        return list
    }

    static let resamplers = Resampler.allCases.map { resampler in
        Variant(words: "\"resampler\": \"\(resampler.rawValue)\"") { $0.resampler = resampler }
    }

    /// A normalization of pixels from 0 to 255, by channel.
    struct Normalization: Sendable {
        let words: String
        let form: PixelNormalization

        /// The value of `normalize` in model.json; nil for pixels from 0 to 255, which need none.
        func json(_ order: ChannelOrder) -> String? {
            if form.rescale == 1, form.mean.allSatisfy({ $0 == 0 }) { return nil }
            if ["[0,1]", "[-1,1]"].contains(words) { return "{ \"standard\": \"\(words)\" }" }
            func channels(_ values: [Double]) -> String {
                if Set(values).count == 1 || order == .gray { return "\(values[0])" }
                return "{ \"r\": \(values[0]), \"g\": \(values[1]), \"b\": \(values[2]) }"
            }
            return "{ \"scale\": \(form.rescale), \"mean\": \(channels(form.mean)), \"std\": \(channels(form.std)) }"
        }
    }

    static let normalizations: [Normalization] = [
        Normalization(words: "pixels from 0 to 255", form: form(1, [0, 0, 0], [1, 1, 1])),
        Normalization(words: "[0,1]", form: form(1 / 255, [0, 0, 0], [1, 1, 1])),
        Normalization(words: "[-1,1]", form: form(1 / 255, [0.5, 0.5, 0.5], [0.5, 0.5, 0.5])),
        Normalization(
            words: "ImageNet's mean and std", form: form(1 / 255, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])),
        Normalization(
            words: "CLIP's mean and std",
            form: form(1 / 255, [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711])),
        Normalization(words: "Caffe's mean", form: form(1, [123.68, 116.779, 103.939], [1, 1, 1])),
    ]

    private static func form(_ rescale: Double, _ mean: [Double], _ std: [Double]) -> PixelNormalization {
        PixelNormalization(rescale: rescale, mean: mean, std: std)
    }
}
