import FileFormats
import ModelFacts
import Testing

/// The facts of each kind of file, one source at a time. The expected values come from transformers, timm, PyYAML and
/// the formats' own documents.
@Suite struct HuggingFaceTests {
    private func sheet(_ text: String, config: String? = nil) -> FactSheet {
        HuggingFaceReader.preprocessor(Array(text.utf8), config: config.map { Array($0.utf8) })
    }

    /// `pooler_output` of each class in transformers' modeling files; None for classes that compute more than a mean.
    @Test("the pooling of a transformers model is that of its class, and unknown for other classes")
    func poolingOfArchitectures() {
        func pooling(_ name: String) -> Fact<VectorPooling>? {
            HuggingFaceReader.config(Array(#"{"architectures": ["\#(name)"]}"#.utf8)).pooling
        }
        for name in ["Dinov2Model", "Dinov2WithRegistersModel", "DINOv3ViTModel", "ViTModel", "DeiTModel"] {
            #expect(pooling(name)?.value == .cls && pooling(name)?.key == "architectures: \(name)")
        }
        for name in ["SwinModel", "ResNetModel", "IJepaModel"] { #expect(pooling(name)?.value == .mean) }
        for name in ["CLIPVisionModel", "SiglipVisionModel", "ConvNextModel", "Dinov2ForImageClassification"] {
            #expect(pooling(name) == nil, "\(name)")
        }
    }

    @Test(
        "the pooling of sentence-transformers is read in both forms, and other poolings are reported",
        arguments: [
            (#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}"#, VectorPooling.cls),
            (#"{"pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true}"#, .mean),
            (#"{"pooling_mode": "cls"}"#, .cls), (#"{"pooling_mode": "mean"}"#, .mean),
            (#"{"pooling_mode": "lasttoken"}"#, .other), (#"{"pooling_mode_max_tokens": true}"#, .other),
            (#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}"#, .other),
            (#"{"word_embedding_dimension": 384}"#, nil),
        ])
    func sentencePooling(_ text: String, _ pooling: VectorPooling?) {
        let sheet = HuggingFaceReader.sentencePooling(Array(text.utf8), source: "1_Pooling/config.json")
        #expect(sheet.pooling?.value == pooling && sheet.problems.isEmpty)
        // A stated value takes precedence over the class's default.
        let model = HuggingFaceReader.config(Array(#"{"architectures": ["Dinov2Model"]}"#.utf8))
        #expect(FactSheet.merged([model, sheet]).pooling?.value == pooling ?? .cls)
    }

    /// Typical files, and the framing by the class (transformers 4.57.6).
    static let framings: [(String, PictureFraming)] = [
        (#"{"image_processor_type": "ViTImageProcessor"}"#, PictureFraming(.exact(FactSize(height: 224, width: 224)))),
        (
            #"{"feature_extractor_type": "ViTFeatureExtractor", "size": 384}"#,
            PictureFraming(.exact(FactSize(height: 384, width: 384)))
        ),
        (
            #"{"image_processor_type": "CLIPImageProcessorFast", "size": 336, "crop_size": 336}"#,
            PictureFraming(.shortest(336), crop: FactSize(height: 336, width: 336))
        ),
        (
            #"{"feature_extractor_type": "ConvNextFeatureExtractor", "size": 224, "crop_pct": 0.875}"#,
            PictureFraming(.shortest(256), crop: FactSize(height: 224, width: 224))
        ),
        (
            #"{"image_processor_type": "ConvNextImageProcessor"}"#,
            PictureFraming(.exact(FactSize(height: 384, width: 384)))
        ),
        (
            #"{"image_processor_type": "ConvNextImageProcessor", "size": {"shortest_edge": 288}, "crop_pct": 0.95}"#,
            PictureFraming(.shortest(303), crop: FactSize(height: 288, width: 288))
        ),
        (
            #"{"image_processor_type": "LevitImageProcessor", "size": {"shortest_edge": 224}}"#,
            PictureFraming(.shortest(256), crop: FactSize(height: 224, width: 224))
        ),
        (
            #"{"image_processor_type": "PoolFormerImageProcessor", "crop_pct": 0.9}"#,
            PictureFraming(.shortest(248), crop: FactSize(height: 224, width: 224))
        ),
        (
            #"{"image_processor_type": "BeitImageProcessor", "do_center_crop": false, "size": 224}"#,
            PictureFraming(.exact(FactSize(height: 224, width: 224)))
        ),
        (
            #"{"image_processor_type": "CLIPImageProcessor", "do_resize": false}"#,
            PictureFraming(.none, crop: FactSize(height: 224, width: 224))
        ),
        (
            #"{"image_processor_type": "MobileNetV2ImageProcessor", "size": {"height": 192, "width": 160}, "do_center_crop": null}"#,
            PictureFraming(.exact(FactSize(height: 192, width: 160)), crop: FactSize(height: 224, width: 224))
        ),
    ]

    @Test("a Hugging Face image processor file gives the resize and crop that transformers does", arguments: framings)
    func sizes(_ text: String, _ expected: PictureFraming) {
        let sheet = sheet(text)
        #expect(sheet.framing?.value == expected, "\(text)")
        #expect(sheet.problems.isEmpty && sheet.unsupported.isEmpty)
    }

    @Test("a processor file without a class uses the model type; unknown classes have no defaults")
    func theClassIsTheModelsWhereTheFileNamesNone() {
        let found = sheet(#"{"size": 224, "do_normalize": true}"#, config: #"{"model_type": "clip"}"#)
        #expect(found.framing?.value == PictureFraming(.shortest(224), crop: FactSize(height: 224, width: 224)))
        #expect(found.normalization?.value.mean == [0.48145466, 0.4578275, 0.40821073])
        #expect(found.normalization?.key == "default of CLIPImageProcessor")
        // A type of an unknown class has no defaults.
        let unknown = sheet(
            #"{"size": {"height": 8, "width": 8}, "resample": 2}"#, config: #"{"model_type": "brand_new"}"#)
        #expect(unknown.unsupported.map(\.key) == ["do_normalize", "do_rescale"])
        let told = sheet(
            #"{"image_processor_type": "BrandNewImageProcessor", "size": {"height": 8, "width": 8}, "resample": 2, "do_normalize": false, "do_rescale": true}"#
        )
        #expect(told.unsupported.isEmpty && told.framing != nil)
        #expect(
            told.problems.map(\.reason) == [
                "unknown \"BrandNewImageProcessor\": its keys are read with their usual meaning"
            ])
        // The meaning of a single number is not specified.
        let alone = sheet(#"{"size": 224, "do_normalize": true}"#)
        #expect(alone.framing == nil && alone.unsupported.count == 2)
    }

    @Test("values missing from an image processor file have the defaults of its class")
    func valuesHaveTheClassesDefaults() {
        let vit = sheet(#"{"image_processor_type": "ViTImageProcessor", "do_normalize": false}"#)
        #expect(vit.normalization?.value == PictureNormalization())
        let raw = sheet(#"{"image_processor_type": "ViTImageProcessor", "do_rescale": false}"#)
        #expect(raw.normalization?.value.rescale == 1 && raw.normalization?.value.mean == [0.5, 0.5, 0.5])
        let scaled = sheet(#"{"image_processor_type": "ChameleonImageProcessor"}"#)
        #expect(scaled.normalization?.value.rescale == 0.0078)
        let bgr = sheet(#"{"image_processor_type": "MobileViTFeatureExtractor"}"#)
        #expect(bgr.order?.value == .bgr && bgr.normalization?.value == PictureNormalization())
        #expect(bgr.filter?.value == .bilinear)
        let offset = sheet(
            #"{"image_processor_type": "EfficientNetImageProcessor", "rescale_factor": 0.00784313725, "rescale_offset": true, "do_normalize": false, "include_top": false}"#
        )
        #expect(offset.normalization?.value.offset == -1 && offset.filter?.value == .nearest)
        // include_top divides by std whether or not the pixels were normalized.
        let top = sheet(
            #"{"image_processor_type": "EfficientNetImageProcessor", "do_normalize": false, "include_top": true}"#)
        #expect(top.normalization?.value.mean == [0, 0, 0] && top.normalization?.value.std == [0.5, 0.5, 0.5])
        #expect(top.normalization?.value.dividesTwice == false)
    }

    /// The key of each value, or the name of its default.
    @Test("every value of an image processor file names its key or the class default")
    func everyValueHasItsOwnKey() {
        let all = sheet(
            #"{"image_processor_type": "EfficientNetImageProcessor", "size": {"height": 8, "width": 8}, "do_center_crop": true, "crop_size": {"height": 4, "width": 4}, "resample": 2, "rescale_factor": 0.01, "rescale_offset": true, "do_normalize": true, "image_mean": [0, 0, 0], "image_std": [1, 1, 2], "include_top": true, "do_flip_channel_order": false}"#
        )
        let values = all.normalization
        #expect(
            [FactPart.scale, .offset, .mean, .std, .secondDivision].map { values?.key(of: $0) } == [
                "rescale_factor", "rescale_offset", "image_mean", "image_std", "include_top",
            ])
        #expect(all.framing?.key == "crop_size" && all.framing?.key(of: .resize) == "size")
        #expect(all.filter?.key == "resample" && all.order?.key == "do_flip_channel_order")
        let none = sheet(#"{"image_processor_type": "ViTImageProcessor", "do_normalize": false, "do_rescale": false}"#)
        #expect(
            none.normalization?.key(of: .scale) == "do_rescale" && none.normalization?.key(of: .std) == "do_normalize")
        #expect(
            none.framing?.key == "default of ViTImageProcessor" && none.filter?.key == "default of ViTImageProcessor")
        let nested = sheet(
            #"{"image_processor": {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 8}, "image_mean": [0, 0, 0]}}"#
        )
        #expect(nested.normalization?.key(of: .mean) == "image_processor.image_mean")
        #expect(nested.normalization?.key(of: .std) == "default of CLIPImageProcessor")
        #expect(nested.framing?.key(of: .resize) == "image_processor.size")
        #expect(nested.framing?.key == "default of CLIPImageProcessor")
        let flipped = sheet(#"{"image_processor_type": "MobileViTImageProcessor"}"#)
        #expect(flipped.order?.value == .bgr && flipped.order?.key == "default of MobileViTImageProcessor")
    }

    @Test(
        "an image processor setting that cannot be followed is reported as unsupported",
        arguments: [
            (#"{"image_processor_type": "ViTImageProcessor", "size": {"longest_edge": 224}}"#, "longest_edge"),
            (#"{"image_processor_type": "DPTImageProcessor", "keep_aspect_ratio": true}"#, "keep_aspect_ratio"),
            (#"{"image_processor_type": "CLIPImageProcessor", "do_pad": true}"#, "do_pad"),
            (#"{"image_processor_type": "GLPNImageProcessor", "do_resize": true, "size_divisor": 32}"#, "size_divisor"),
            (#"{"image_processor_type": "DetrFeatureExtractor", "size": 800, "max_size": 1333}"#, "max_size"),
            (#"{"image_processor_type": "CLIPImageProcessor", "do_center_crop": false}"#, "any size"),
            (#"{"image_processor_type": "RTDetrImageProcessor", "size": 640}"#, "any size"),
            (
                #"{"image_processor_type": "ZoeDepthImageProcessor", "size": {"height": 8, "width": 8}, "do_pad": true}"#,
                "do_pad"
            ),
            (#"{"image_processor_type": "BrandNewImageProcessor"}"#, "unknown image processor"),
            // Its defaults are unknown: omitted values are not guessed.
            (
                #"{"image_processor_type": "BrandNewImageProcessor", "size": {"height": 8, "width": 8}}"#,
                "does not specify \"resample\""
            ),
            (
                #"{"image_processor_type": "BrandNewImageProcessor", "size": {"height": 8, "width": 8}, "resample": 2, "do_rescale": true}"#,
                "does not specify \"do_normalize\""
            ),
        ])
    func whatCannotBeDoneIsSaid(_ text: String, _ words: String) {
        let found = sheet(text).unsupported.map(\.value).joined()
        #expect(found.contains(words), "\(found)")
    }

    @Test(
        "a mistake in an image processor file is reported with the file and the key or the line",
        arguments: [
            (
                #"{"image_processor_type": "ViTImageProcessor", "size": -1}"#,
                "size: expected a side, or [height, width], found the number -1"
            ),
            (
                #"{"image_processor_type": "ViTImageProcessor", "resample": 9}"#,
                "resample: expected an integer from 0 to 5, found the number 9"
            ),
            (
                #"{"image_processor_type": "ViTImageProcessor", "image_std": [0, 1, 1]}"#,
                "image_std: expected numbers greater than 0"
            ),
            (
                #"{"image_processor_type": "ViTImageProcessor", "image_mean": [1, 2]}"#,
                "image_mean: expected a number, or an array of 1 or 3"
            ),
            (
                #"{"image_processor_type": "ConvNextImageProcessor", "size": 224, "crop_pct": 0}"#,
                "crop_pct: expected a number greater than 0"
            ),
            (#"{"size": {"shortest_edge": 224"#, "line 1, column 31"),
            ("", "line 1, column 1"),
            (String(repeating: "[", count: 100_000), "nested too deeply"),
        ])
    func mistakesHaveTheirPlace(_ text: String, _ words: String) {
        let problems = sheet(text).problems.map { "\($0.source): \($0.reason)" }.joined(separator: "\n")
        #expect(problems.contains("preprocessor_config.json") && problems.contains(words), "\(problems)")
    }

    @Test("labels are read from id2label and label2id, and gaps or repeated numbers are problems")
    func labelsOfEveryForm() {
        func labels(_ text: String) -> [String]? { HuggingFaceReader.config(Array(text.utf8)).labels?.value }
        #expect(labels(#"{"id2label": {"1": "dog", "0": "cat"}}"#) == ["cat", "dog"])
        #expect(labels(#"{"label2id": {"dog": 1, "cat": 0}}"#) == ["cat", "dog"])
        #expect(labels(#"{"label2id": {"dog": "1", "cat": "0"}}"#) == ["cat", "dog"])
        #expect(labels(#"{"id2label": ["cat", "dog"]}"#) == ["cat", "dog"])
        // The placeholders of a configuration without labels.
        let placeholders = HuggingFaceReader.config(Array(#"{"id2label": {"0": "LABEL_0", "1": "LABEL_1"}}"#.utf8))
        #expect(placeholders.labels == nil && placeholders.placeholderLabels?.value == ["LABEL_0", "LABEL_1"])
        let hole = HuggingFaceReader.config(Array(#"{"id2label": {"0": "cat", "2": "dog"}}"#.utf8))
        #expect(hole.labels == nil && hole.problems.first?.reason.contains("names class 2, but has 2 names") == true)
        for text in [#"{"id2label": {"1": "cat", "+1": "dog"}}"#, #"{"label2id": {"cat": 0, "dog": 0}}"#] {
            let twice = HuggingFaceReader.config(Array(text.utf8))
            #expect(twice.labels == nil && twice.problems.first?.reason.contains("twice") == true, "\(twice.problems)")
        }
    }

    /// 10 MB of names are read; more classes than the maximum are not.
    @Test("150,000 labels of 10 MB are read, and more than 200,000 are refused")
    func manyNames() {
        let names = (0..<150_000).map { "\"\($0)\": \"\(String(repeating: "x", count: 55))\"" }.joined(separator: ",")
        let text = Array("{\"id2label\": {\(names)}}".utf8)
        #expect(text.count > 10_000_000)
        #expect(HuggingFaceReader.config(text).labels?.value.count == 150_000)
        let more = (0..<200_001).map { "\"\($0)\": \"x\"" }.joined(separator: ",")
        let sheet = HuggingFaceReader.config(Array("{\"id2label\": {\(more)}}".utf8))
        #expect(sheet.labels == nil && sheet.problems.first?.reason.contains("the limit is 200000") == true)
    }
}

@Suite struct TimmTests {
    private static let base = """
        {"architecture": "x", "num_classes": 2, "label_names": ["a", "b"], "pretrained_cfg": {"input_size": [3, 224, 224],
        "test_input_size": [3, 288, 288], "crop_pct": 0.9, "test_crop_pct": 1.0, "interpolation": "bicubic"
        """

    private func sheet(_ more: String, input: Int) -> FactSheet {
        TimmReader.config(Array((Self.base + more + "}}").utf8), input: FactSize(height: input, width: input))
    }

    @Test("the model's input decides between timm's input size and test input size")
    func theModelsInputDecidesBetweenSizes() {
        let square = { FactSize(height: $0, width: $0) }
        #expect(
            sheet("", input: 224).framing?.value == PictureFraming(.shortest(248), crop: square(224), floors: false))
        #expect(
            sheet("", input: 288).framing?.value == PictureFraming(.shortest(288), crop: square(288), floors: false))
        let squash = sheet(#", "crop_mode": "squash""#, input: 224)
        #expect(squash.framing?.value == PictureFraming(.exact(square(248)), crop: square(224), floors: false))
        let border = sheet(#", "crop_mode": "border", "mean": [0.5, 0.25, 1]"#, input: 288)
        #expect(border.framing?.value == PictureFraming(.contain(square(288)), crop: square(288), floors: false))
        #expect(border.fill?.value == [128, 64, 255])
        // More than the input's size: the border is cropped again.
        let cut = sheet(#", "crop_mode": "border""#, input: 224)
        #expect(cut.framing?.value == PictureFraming(.contain(square(248)), crop: square(224), floors: false))
        #expect(cut.unsupported.isEmpty)
        #expect(sheet("", input: 224).normalization?.value.std == [0.229, 0.224, 0.225])
    }

    @Test("every value of a timm configuration names its key or timm's default")
    func everyValueHasItsOwnKey() {
        let some = sheet(#", "std": [1, 1, 2]"#, input: 288)
        #expect(some.normalization?.key(of: .mean) == "timm's default")
        #expect(some.normalization?.key(of: .std) == "pretrained_cfg.std")
        #expect(some.framing?.key == "timm's default")
        #expect(
            some.framing?.key(of: .resize) == "pretrained_cfg.test_input_size, pretrained_cfg.test_crop_pct")
        #expect(some.filter?.key == "pretrained_cfg.interpolation")
    }

    @Test("a timm configuration without a size has timm's default of 224 pixels")
    func aConfigurationWithoutASize() {
        let text = #"{"architecture": "x", "pretrained_cfg": {"mean": [0.5, 0.5, 0.5]}}"#
        let size = FactSize(height: 224, width: 224)
        let sheet = TimmReader.config(Array(text.utf8))
        #expect(sheet.framing?.value == PictureFraming(.shortest(256), crop: size, floors: false))
        #expect(sheet.inputSize == Fact(size, source: "config.json", key: "timm's default", basis: .preset))
    }

    /// timm itself applies it only if requested on the command line.
    @Test("a timm crop border above 0 is reported as unsupported")
    func aBorderIsNotCutOff() {
        #expect(sheet(#", "crop_border_pixels": 0"#, input: 224).unsupported.isEmpty)
        let border = sheet(#", "crop_border_pixels": 4"#, input: 224)
        #expect(border.unsupported.map(\.key) == ["pretrained_cfg.crop_border_pixels"])
    }

    @Test("WordNet numbers in timm's labels are replaced by their descriptions")
    func numbersOfWordNetAreReplacedByTheirDescriptions() {
        let text = """
            {"architecture": "x", "label_names": ["n01440764", "n01443537"], "label_descriptions":
            {"n01440764": "tench, Tinca tinca", "n01443537": "goldfish"}, "pretrained_cfg": {"input_size": [3, 8, 8]}}
            """
        #expect(TimmReader.config(Array(text.utf8)).labels?.value == ["tench, Tinca tinca", "goldfish"])
    }
}

@Suite struct RoboflowTests {
    private func sheet(_ preprocessing: String, _ more: String = "") -> FactSheet {
        RoboflowReader.environment(Array("{\"PREPROCESSING\": \(preprocessing)\(more)}".utf8))
    }

    @Test("a Roboflow environment file gives framing, input size, labels and channel order")
    func theEnvironmentFile() {
        let steps =
            #"{"auto-orient": {"enabled": true}, "resize": {"enabled": true, "width": 320, "height": 240, "format": "Stretch to"}}"#
        let object = sheet(steps, #", "CLASS_MAP": {"1": "dog", "0": "cat"}, "MULTICLASS": true"#)
        #expect(object.problems.isEmpty && object.unsupported.isEmpty, "\(object.problems)")
        #expect(object.framing?.value == PictureFraming(.stretch) && object.filter?.value == .linear)
        #expect(object.framing?.key == "PREPROCESSING.resize.format" && object.framing?.source == "environment.json")
        #expect(object.inputSize?.value == FactSize(height: 240, width: 320) && object.order?.value == .rgb)
        #expect(object.labels?.value == ["cat", "dog"] && object.multiLabel?.value == true)
        // Roboflow's own files have the steps as text.
        let text = sheet("\"" + steps.replacing("\"", with: "\\\"") + "\"")
        #expect(text.framing == object.framing && text.problems.isEmpty)
        let white = sheet(
            #"{"auto-orient": {}, "resize": {"width": 8, "height": 8, "format": "Fit (white edges) in"}}"#)
        #expect(white.framing?.value == PictureFraming(.letterbox(nil, topLeft: false)) && white.fill?.value == [255])
        #expect(white.problems.map(\.reason).joined().contains("one line of the margin may differ"))
    }

    @Test(
        "a Roboflow preprocessing step that is unsupported or invalid is reported",
        arguments: [
            (#"{"resize": {"format": "Fit within"}}"#, "\"Fit within\" is not supported"),
            (#"{"grayscale": {"enabled": true}}"#, "gray of three channels"),
            (#"{"contrast": {"enabled": true, "type": "Contrast Stretching"}}"#, "contrast"),
            (#"{"static-crop": {"enabled": true}}"#, "a fixed part of the picture"),
            (#""{""#, "PREPROCESSING: is not valid JSON"), ("[]", "PREPROCESSING: expected an object, found"),
        ])
    func whatCannotBeDoneIsSaid(_ text: String, _ words: String) {
        let found = sheet(text)
        let all = found.unsupported.map(\.value).joined() + found.problems.map(\.reason).joined()
        #expect(all.contains(words), "\(all)")
    }

    @Test("an environment.json without Roboflow's keys gives no facts")
    func aFileOfAnotherKindSaysNothing() {
        #expect(RoboflowReader.environment(Array(#"{"name": "production"}"#.utf8)).isEmpty)
    }
}

@Suite struct UltralyticsTests {
    @Test("the metadata.yaml of an Ultralytics export gives labels, framing, keypoints and description")
    func theYAMLThatExportersWrite() {
        let text = """
            # a comment
            description: Ultralytics YOLOv8n-cls model trained on /usr/src/a-folder-of-some-length/datasets/imagenet.yaml
              that goes on in the next line
            author: Ultralytics
            date: '2024-05-17T10:00:00.000000'
            version: 8.2.24
            stride: 32
            task: pose
            imgsz: [640, 320]
            kpt_shape:
            - 17
            - 3
            names:
              0: person
              1: 'it''s: a dog'
              2: "tab\\there"
            args: {batch: 1, half: false, list: [a, b]}
            """
        let sheet = UltralyticsReader.yaml(Array(text.utf8))
        #expect(sheet.problems.isEmpty, "\(sheet.problems)")
        #expect(sheet.labels?.value == ["person", "it's: a dog", "tab\there"])
        #expect(sheet.framing?.value == PictureFraming(.letterbox(FactSize(height: 640, width: 320), topLeft: false)))
        #expect(sheet.keypoints?.value == [17, 3] && sheet.fill?.value == [114])
        #expect(sheet.details?.value.hasSuffix("imagenet.yaml that goes on in the next line") == true)
    }

    @Test("Ultralytics properties in Python notation are read, and a broken literal is a problem")
    func pythonsNotation() {
        let sheet = UltralyticsReader.properties(
            [
                "task": "detect", "imgsz": "(320, 640)", "stride": "32",
                "names": #"{0: 'car', 1: "driver's seat", 2: 'caf\xe9 \u2713', 3: 'a, {b}: c'}"#,
            ], source: "metadata_props of x.onnx")
        #expect(sheet.labels?.value == ["car", "driver's seat", "café ✓", "a, {b}: c"])
        #expect(sheet.inputSize?.value == FactSize(height: 320, width: 640))
        let broken = UltralyticsReader.properties(["task": "detect", "names": "{0: 'car'"], source: "s")
        #expect(
            broken.labels == nil
                && broken.problems.first?.reason.contains("names: is not a literal: at character") == true
        )
    }

    @Test(
        "unsupported or malformed YAML is reported with the mistake",
        arguments: [
            ("names: &a [x]\ntask: *b\n", "line 2: expected the name of an anchor above, found \"*b\""),
            ("names: &a\n  - *a\n", "line 2: expected the name of an anchor above"),
            ("task: &\n", "line 1: expected the name of an anchor and its value"),
            ("names: !!python/object x\n", "line 1: tags are not supported"),
            ("names: |\n  text\n", "line 1: values that begin with \"|\""),
            ("a: 1\n\tb: 2\n", "line 2: is indented with a tab"),
            ("a: 1\n---\nb: 2\n", "line 2: a second document"),
            ("a: 'x\nb: 2\n", "line 1: unterminated value that begins with '"),
            ("a: [1, 2\nb: ]]\n", "line 1"),
            ("a: 1\n   b: 2\n", "a mapping is indented below a value"),
        ])
    func whatIsNotReadHasItsLine(_ text: String, _ words: String) {
        let problems = UltralyticsReader.yaml(Array(text.utf8)).problems.map(\.reason).joined()
        #expect(problems.contains(words), "\(problems)")
    }

    /// Nesting, aliases of aliases and long values cost time in proportion to their bytes, or are refused.
    @Test("deeply nested, aliased or unterminated YAML of great size is refused")
    func bombs() {
        let deep = (0..<100_000).map { String(repeating: " ", count: $0 % 2_000) + "a:" }.joined(separator: "\n")
        #expect(!UltralyticsReader.yaml(Array(deep.utf8)).problems.isEmpty)
        let flow = "a: " + String(repeating: "[", count: 1_000_000)
        #expect(!UltralyticsReader.yaml(Array(flow.utf8)).problems.isEmpty)
        let laughs = "b0: &b0 x\n" + (1..<50).map { "b\($0): &b\($0)\n- *b\($0 - 1)\n" }.joined()
        #expect(
            UltralyticsReader.yaml(Array(laughs.utf8)).problems.first?.reason.contains("nested more than 16") == true)
        let wide =
            "a: &a\n" + String(repeating: "- x\n", count: 1_000) + "b:\n" + String(repeating: "- *a\n", count: 1_000)
        #expect(UltralyticsReader.yaml(Array(wide.utf8)).problems.first?.reason.contains("too many values") == true)
        let open = "a: [\n" + String(repeating: "  x,\n", count: 200_000)
        #expect(!UltralyticsReader.yaml(Array(open.utf8)).problems.isEmpty)
        let quote = "a: 'x\n" + String(repeating: "  it''s\n", count: 50_000)
        #expect(!UltralyticsReader.yaml(Array(quote.utf8)).problems.isEmpty)
        #expect(
            !UltralyticsReader.properties(["names": String(repeating: "{0:", count: 100_000)], source: "s").problems
                .isEmpty)
    }
}
