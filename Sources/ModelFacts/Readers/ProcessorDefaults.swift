/// The defaults of an image processor of Hugging Face's transformers for keys that `preprocessor_config.json` omits:
/// read from objects of each class, constructed with transformers 4.57.6.
struct ProcessorDefaults {
    enum Size {
        case shortest(Int)
        case exact(Int, Int)
    }

    /// The peculiarity of a class, in addition to the usual resize, crop, rescale, normalize.
    enum Quirk {
        case none
        /// Below 384 pixels the shorter side is scaled to the size divided by `crop_pct`, then the size is cropped;
        /// from 384 on the size is exact.
        case convNext
        /// The shorter side is scaled to the size divided by `crop_pct`.
        case poolFormer
        /// The shorter side is scaled to the size times 256/224.
        case levit
        /// A size given as a number is the shorter side's, although the default is both sides.
        case shorterByNumber
        /// `rescale_offset` and `include_top` have an effect.
        case efficientNet
    }

    let name: String
    let size: Size
    var crop: Int?
    /// True if the class crops by default, false if only with `do_center_crop`; nil if it never crops.
    var crops: Bool?
    let resample: Int
    /// The mean and deviation; nil if the class does not normalize.
    var moments: Moments?
    /// The factor of the levels.
    var rescale = 1 / 255.0
    var flips = false
    var normalizes = true
    var quirk = Quirk.none

    enum Moments {
        case half, imageNet, clip, one

        var mean: [Double] {
            switch self {
            case .half: [0.5, 0.5, 0.5]
            case .imageNet: [0.485, 0.456, 0.406]
            case .clip: [0.48145466, 0.4578275, 0.40821073]
            case .one: [1, 1, 1]
            }
        }

        var std: [Double] {
            switch self {
            case .half: [0.5, 0.5, 0.5]
            case .imageNet: [0.229, 0.224, 0.225]
            case .clip: [0.26862954, 0.26130258, 0.27577711]
            case .one: [1, 1, 1]
            }
        }
    }

    // Wide: a row of the table below.
    private init(
        _ name: String, _ size: Size, crop: Int? = nil, crops: Bool? = nil, _ resample: Int, _ moments: Moments?,
        rescale: Double = 1 / 255, flips: Bool = false, normalizes: Bool = true, quirk: Quirk = .none
    ) {
        self.name = name
        self.size = size
        self.crop = crop
        self.crops = crops ?? (crop == nil ? nil : true)
        self.resample = resample
        self.moments = moments
        self.rescale = rescale
        self.flips = flips
        self.normalizes = normalizes
        self.quirk = quirk
    }

    private static let all: [String: ProcessorDefaults] = {
        let list: [ProcessorDefaults] = [
            Self("Beit", .exact(256, 256), crop: 224, 3, .half),
            Self("Bit", .shortest(224), crop: 224, 3, .clip),
            Self("Blip", .exact(384, 384), 3, .clip),
            Self("CLIP", .shortest(224), crop: 224, 3, .clip),
            Self("ChineseCLIP", .shortest(224), crop: 224, 3, .clip),
            Self("Chameleon", .shortest(512), crop: 512, 1, .one, rescale: 0.0078),
            // The longer side has its own limit, which does not matter: such sizes are not supported.
            Self("ConditionalDetr", .shortest(800), 2, .imageNet),
            Self("ConvNext", .shortest(384), 2, .half, quirk: .convNext),
            Self("DINOv3ViT", .exact(224, 224), 2, .imageNet),
            Self("DPT", .exact(384, 384), 3, .half),
            Self("DeformableDetr", .shortest(800), 2, .imageNet),
            Self("Detr", .shortest(800), 2, .imageNet),
            Self("DeiT", .exact(256, 256), crop: 224, 3, .half),
            Self("EfficientFormer", .exact(224, 224), crop: 224, 3, .imageNet),
            Self("EfficientNet", .exact(346, 346), crop: 289, crops: false, 0, .half, quirk: .efficientNet),
            Self("Flava", .exact(224, 224), crop: 224, 3, .clip),
            Self("LayoutLMv3", .exact(224, 224), 2, .half),
            Self("Levit", .shortest(224), crop: 224, 3, .imageNet, quirk: .levit),
            Self("MobileNetV1", .shortest(256), crop: 224, 2, .half),
            Self("MobileNetV2", .shortest(256), crop: 224, 2, .half),
            Self("MobileViT", .shortest(224), crop: 256, 2, nil, flips: true),
            Self("OwlViT", .exact(768, 768), crop: 768, crops: false, 3, .clip),
            Self("PoolFormer", .shortest(224), crop: 224, 3, .imageNet, quirk: .poolFormer),
            Self("Pvt", .exact(224, 224), 2, .imageNet),
            Self("RTDetr", .exact(640, 640), 2, .imageNet, normalizes: false, quirk: .shorterByNumber),
            Self("Segformer", .exact(512, 512), 2, .imageNet),
            Self("Siglip", .exact(224, 224), 3, .half),
            Self("ViT", .exact(224, 224), 2, .half),
            Self("ViTHybrid", .shortest(224), crop: 224, 3, .clip),
            Self("VideoMAE", .shortest(224), crop: 224, 2, .half),
            Self("Yolos", .shortest(800), 2, .imageNet),
        ]
        return Dictionary(list.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }()

    /// The class of `model_type` in config.json, if the processor's own file does not name one.
    private static let byModelType: [String: String] = {
        let types: [(String, String)] = [
            ("Beit", "beit data2vec-vision"), ("Bit", "bit dinov2 dinov2_with_registers focalnet hiera"),
            ("Blip", "blip blip-2"),
            ("CLIP", "aimv2 aimv2_vision_model clip clip_vision_model groupvit metaclip_2 mlcd"),
            ("ChineseCLIP", "chinese_clip"), ("ConditionalDetr", "conditional_detr"),
            ("DeformableDetr", "deformable_detr"), ("Detr", "detr table-transformer"), ("Yolos", "yolos"),
            ("ConvNext", "convnext convnextv2 cvt regnet resnet van"),
            ("DINOv3ViT", "dinov3_vit dinov3_convnext"), ("DPT", "dpt depth_anything"), ("DeiT", "deit"),
            ("EfficientFormer", "efficientformer"), ("EfficientNet", "align efficientnet"), ("Flava", "flava"),
            ("LayoutLMv3", "layoutlmv3 udop"), ("Levit", "levit"), ("MobileNetV1", "mobilenet_v1"),
            ("MobileNetV2", "mobilenet_v2"), ("MobileViT", "mobilevit mobilevitv2"), ("OwlViT", "owlvit"),
            ("PoolFormer", "poolformer"), ("Pvt", "pvt pvt_v2"), ("RTDetr", "rt_detr"),
            ("Segformer", "segformer upernet"),
            ("Siglip", "siglip siglip_vision_model paligemma"),
            ("ViT", "dinat ijepa nat swiftformer swin swinv2 vit vit_mae vit_msn clipseg mgp-str"),
            ("ViTHybrid", "vit_hybrid"),
            ("VideoMAE", "timesformer videomae"),
        ]
        return Dictionary(
            types.flatMap { name, types in types.split(separator: " ").map { (String($0), name) } },
            uniquingKeysWith: { first, _ in first })
    }()

    /// The defaults of a class by its name in files: `ViTImageProcessor`, `ViTImageProcessorFast`,
    /// `ViTImageProcessorPil`, `ViTFeatureExtractor`.
    static func named(_ type: String) -> ProcessorDefaults? {
        for suffix in [
            "ImageProcessorFast", "ImageProcessorPil", "ImageProcessor", "FeatureExtractorFast", "FeatureExtractor",
        ]
        where type.hasSuffix(suffix) {
            return all[String(type.dropLast(suffix.count))]
        }
        return nil
    }

    static func ofModelType(_ type: String) -> ProcessorDefaults? { byModelType[type].flatMap { all[$0] } }

    /// The full class name, for messages.
    var className: String { name + "ImageProcessor" }
}
