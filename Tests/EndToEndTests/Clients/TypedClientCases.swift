import Foundation
import TestSupport

/// A prediction by a typed client, and the same one by curl.
struct TypedClientCase: Sendable {
    /// The name under which the model is served, and its bundle or file.
    let model: String, path: String
    /// The name of the client's type.
    let type: String
    /// curl's route, and its body: JSON, or `@` and the path of a picture.
    let route: String, body: String
    /// The arguments of the inputs in Swift and in Python; `picture("PATH")` reads a file in both.
    let swift: String, python: String
    let members: [Member]

    /// An expression on `output` and what its value must be.
    struct Member: Sendable {
        let swift: String, python: String
        let expected: Expected

        enum Expected: Sendable {
            /// The value at a path in curl's answer; `#` is the number of elements.
            case answered(String)
            case text(String)
        }

        init(_ swift: String, python: String? = nil, _ expected: Expected) {
            (self.swift, self.python, self.expected) = (swift, python ?? swift, expected)
        }
    }

    static let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures").path
    static let seven = SharedData.packageRoot.appendingPathComponent("examples/seven.png").path
    static let scene = SharedData.packageRoot
        .appendingPathComponent("Tests/ImagePipelineTests/Fixtures/scene.png").path
    private static let few = fixtures + "/observations/ssd_few.png"

    private static func base64(_ path: String) -> String {
        ((try? Data(contentsOf: URL(fileURLWithPath: path))) ?? Data()).base64EncodedString()
    }

    /// A case with one picture as its only input.
    private static func picture(
        _ model: String, _ path: String, _ type: String, _ route: String, of file: String, _ members: [Member],
        input: String = "image"
    ) -> TypedClientCase {
        let inputs = "\(input): picture(\"\(file)\")"
        return TypedClientCase(
            model: model, path: path, type: type, route: route, body: "@" + file, swift: inputs,
            python: "\(input)=picture(\"\(file)\")", members: members)
    }

    private static func bytes(_ name: String, _ path: String) -> Member {
        Member("output.\(name).base64EncodedString()", python: "base64(output.\(name))", .answered(path))
    }

    /// The flags that serve the cases but those of some folders, which are served whole.
    static func flags(_ cases: [TypedClientCase], folders: [String]) -> [String] {
        folders.flatMap { ["--models", $0] }
            + cases.filter { one in !folders.contains { one.path.hasPrefix($0 + "/") } }.flatMap {
                ["--model", "\($0.model)=\($0.path)"]
            }
    }

    /// A classifier, a detector, several inputs, pictures to pictures, tables, texts, masks, points, vectors, a
    /// pipeline.
    static let all: [TypedClientCase] = [
        picture(
            "depth", fixtures + "/ultralytics/depth", "depth", "predict", of: fixtures + "/ultralytics/wide.png",
            [
                Member("output.output0.minimum", .answered("outputs.output0.min")),
                Member("output.output0.maximum", .answered("outputs.output0.max")),
                Member(
                    "output.output0.png.base64EncodedString()", python: "base64(output.output0.png)",
                    .answered("outputs.output0.b64")),
            ], input: "images"),
        picture(
            "semantic", fixtures + "/ultralytics/semantic", "semantic", "segment",
            of: fixtures + "/ultralytics/wide.png",
            [
                Member("output.segments.count", python: "len(output.segments)", .answered("segments.#")),
                Member("output.segments[0].label", .answered("segments.0.label")),
                Member("output.segments[0].area", .answered("segments.0.area")),
            ], input: "images"),
        picture(
            "obb", fixtures + "/ultralytics/obb", "obb", "detect", of: fixtures + "/ultralytics/wide.png",
            [
                Member("output.detections.count", python: "len(output.detections)", .answered("detections.#")),
                Member(
                    "output.detections[0].angle!", python: "output.detections[0].angle",
                    .answered("detections.0.angle")),
                Member(
                    "output.detections[0].points![3].y", python: "output.detections[0].points[3].y",
                    .answered("detections.0.points.3.y")),
            ], input: "images"),
        picture(
            "digits", SharedData.packageRoot.appendingPathComponent("models/digits").path, "digits", "predict",
            of: seven,
            [
                Member("output.classLabel", .text("7")),
                Member("output.classLabelCase!", python: "output.classLabelCase.name", .text("_7")),
                Member(
                    "output.classLabelProbs[\"7\"]!", python: "output.classLabelProbs[\"7\"]",
                    .answered("outputs.probabilities.7")),
                Member(
                    "output.probabilities[\"1\"]!", python: "output.probabilities[\"1\"]",
                    .answered("outputs.probabilities.1")),
            ]),
        picture(
            "ssd_few", fixtures + "/observations/ssd_few", "ssd_few", "detect", of: few,
            [
                Member("output.detections.count", python: "len(output.detections)", .answered("detections.#")),
                Member("output.detections[0].label", .answered("detections.0.label")),
                Member("output.detections[0].confidence", .answered("detections.0.confidence")),
                Member("output.detections[0].box.width", .answered("detections.0.box.width")),
                Member(
                    "output.detections[0].labelCase!.rawValue", python: "output.detections[0].labelCase.value",
                    .answered("detections.0.label")),
            ]),
        TypedClientCase(
            model: "matrices-2-in-2-out", path: fixtures + "/tensorio/matrices-2-in-2-out.tiobundle",
            type: "matrices_2_in_2_out", route: "predict",
            body:
                #"{"inputs": {"input1": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16], "input2": [2,0,0,0,0,2,0,0,0,0,2,0,0,0,0,2.5]}}"#,
            swift:
                "input1: [[1,2,3,4],[5,6,7,8],[9,10,11,12],[13,14,15,16]], input2: [[2,0,0,0],[0,2,0,0],[0,0,2,0],[0,0,0,2.5]]",
            python:
                "input1=[[1,2,3,4],[5,6,7,8],[9,10,11,12],[13,14,15,16]], input2=[[2,0,0,0],[0,2,0,0],[0,0,2,0],[0,0,0,2.5]]",
            members: [
                Member("output.output1[3][3]", .answered("outputs.output1.3.3")),
                Member("output.output1[3][3]", .text("40.0")),
                Member("output.output2[0][1]", .answered("outputs.output2.0.1")),
            ]),
        TypedClientCase(
            model: "pictures-2-in-1-out", path: fixtures + "/tensorio/pictures-2-in-1-out.tiobundle",
            type: "pictures_2_in_1_out", route: "predict",
            body:
                "{\"inputs\": {\"new_image\": {\"b64\": \"\(base64(seven))\"}, \"previous_image\": {\"b64\": \"\(base64(few))\"}}}",
            swift: "new_image: picture(\"\(seven)\"), previous_image: picture(\"\(few)\")",
            python: "new_image=picture(\"\(seven)\"), previous_image=picture(\"\(few)\")",
            members: [bytes("previous_image", "outputs.previous_image.b64")]),
        picture(
            "picture-denormalized-per-channel", fixtures + "/tensorio/picture-denormalized-per-channel.tiobundle",
            "picture_denormalized_per_channel", "predict", of: few, [bytes("picture", "outputs.picture.b64")]),
        TypedClientCase(
            model: "glm_classifier_integers", path: fixtures + "/coreml/classical/glm_classifier_integers.mlmodel",
            type: "glm_classifier_integers", route: "predict",
            body: #"{"goal": 0.12890625, "backersCount": -0.69921875, "duration": 0.08203125}"#,
            swift: "goal: 0.12890625, backersCount: -0.69921875, duration: 0.08203125",
            python: "goal=0.12890625, backersCount=-0.69921875, duration=0.08203125",
            members: [
                Member("output.state", .answered("outputs.state")), Member("output.state", .text("0")),
                Member(
                    "output.classProbability[1]!", python: "output.classProbability[1]",
                    .answered("outputs.classProbability.1")),
            ]),
        TypedClientCase(
            model: "dict_vectorizer", path: fixtures + "/coreml/classical/dict_vectorizer.mlmodel",
            type: "dict_vectorizer", route: "predict", body: #"{"x": {"bedrooms": 3, "city=Rome": 1}}"#,
            swift: "x: [\"bedrooms\": 3, \"city=Rome\": 1]", python: "x={\"bedrooms\": 3, \"city=Rome\": 1}",
            members: [
                Member("output.y[1]", .answered("outputs.y.1")), Member("output.y[1]", .text("3.0")),
                Member("output.y.count", python: "len(output.y)", .text("4")),
            ]),
        TypedClientCase(
            model: "iris_logistic", path: fixtures + "/tabular/models/iris_logistic.onnx", type: "iris_logistic",
            route: "predict", body: #"{"inputs": {"X": [6.1, 2.6, 5.6, 1.4]}}"#, swift: "X: [[6.1, 2.6, 5.6, 1.4]]",
            python: "X=[[6.1, 2.6, 5.6, 1.4]]",
            members: [
                Member("output.output_label[0]", .answered("outputs.output_label.0")),
                // The object of a single row is a list of one.
                Member(
                    "output.output_probability[0][\"2\"]!", python: "output.output_probability[0][\"2\"]",
                    .answered("outputs.output_probability.2")),
                Member("output.classLabels[0]", .text("2")),
            ]),
        // Two rows of a table: an object each.
        TypedClientCase(
            model: "iris_names", path: fixtures + "/tabular/models/iris_names.onnx", type: "iris_names",
            route: "predict", body: #"{"inputs": {"X": [[6.1, 2.6, 5.6, 1.4], [5.2, 4.1, 1.5, 0.1]]}}"#,
            swift: "X: [[6.1, 2.6, 5.6, 1.4], [5.2, 4.1, 1.5, 0.1]]",
            python: "X=[[6.1, 2.6, 5.6, 1.4], [5.2, 4.1, 1.5, 0.1]]",
            members: [
                Member("output.output_label[1]", .answered("outputs.output_label.1")),
                Member(
                    "output.output_probability.count", python: "len(output.output_probability)",
                    .answered("outputs.output_probability.#")),
                Member(
                    "output.output_probability[1][\"setosa\"]!",
                    python: "output.output_probability[1][\"setosa\"]",
                    .answered("outputs.output_probability.1.setosa")),
                Member("output.classLabels[0]", .answered("outputs.output_label.0")),
                Member(
                    "output.classLabelCases[1]!.rawValue", python: "output.classLabelCases[1].value", .text("setosa")),
            ]),
        // A sequence of tensors: one for each target, with two rows.
        TypedClientCase(
            model: "iris_two_targets", path: fixtures + "/tabular/models/iris_two_targets.onnx",
            type: "iris_two_targets", route: "predict",
            body: #"{"inputs": {"X": [[6.1, 2.6, 5.6, 1.4], [5.2, 4.1, 1.5, 0.1]]}}"#,
            swift: "X: [[6.1, 2.6, 5.6, 1.4], [5.2, 4.1, 1.5, 0.1]]",
            python: "X=[[6.1, 2.6, 5.6, 1.4], [5.2, 4.1, 1.5, 0.1]]",
            members: [
                Member("output.label[1][0]", .answered("outputs.label.1.0")),
                Member(
                    "output.probabilities.count", python: "len(output.probabilities)",
                    .answered("outputs.probabilities.#")),
                Member("output.probabilities[1].shape[0]", .text("2")),
                Member("output.probabilities[0].values[1]", .answered("outputs.probabilities.0.0.1")),
                Member(
                    "output.probabilities[1].values[output.probabilities[1].shape[1]]",
                    .answered("outputs.probabilities.1.1.0")),
            ]),
        picture(
            "shapes", fixtures + "/pipelines/shapes", "shapes", "detect", of: scene,
            [
                Member(
                    "output.detections[0].mask!.counts", python: "output.detections[0].mask.counts",
                    .answered("detections.0.mask.counts")),
                Member(
                    "output.detections[0].mask!.size[1]", python: "output.detections[0].mask.size[1]",
                    .answered("detections.0.mask.size.1")),
            ]),
        picture(
            "spots", fixtures + "/pipelines/spots", "spots", "detect", of: scene,
            [
                Member(
                    "output.detections[0].keypoints![0]!.x", python: "output.detections[0].keypoints[0].x",
                    .answered("detections.0.keypoints.0.x"))
            ]),
        picture(
            "means", fixtures + "/pipelines/means", "means", "embed", of: scene,
            [
                Member("output.embedding[0]", .answered("embedding.0")),
                Member("output.dimension", .answered("dimension")),
            ]),
        picture(
            "bars", fixtures + "/readers/models/bars", "bars", "read", of: fixtures + "/readers/pictures/page.png",
            [
                // The text of the page has line feeds, which the lists of these tests cannot have.
                Member("output.lines[0].text", .answered("lines.0.text")),
                Member("output.lines.count", python: "len(output.lines)", .answered("lines.#")),
                Member("output.lines[1].points[2].x", .answered("lines.1.points.2.x")),
                Member("output.lines[1].box.width", .answered("lines.1.box.width")),
                Member("output.lines[2].text", .answered("lines.2.text")),
            ], input: "x"),
        picture(
            "looks", fixtures + "/pipelines/looks", "looks", "detect", of: scene,
            [
                Member(
                    "output.detections[0].color!.classifications![1].label",
                    python: "output.detections[0].color.classifications[1].label",
                    .answered("detections.0.color.classifications.1.label")),
                Member(
                    "output.detections[0].plain!.embedding![0]", python: "output.detections[0].plain.embedding[0]",
                    .answered("detections.0.plain.embedding.0")),
            ]),
    ]

    /// Models of the shared data: Core ML files as Xcode's users have them, a mask.
    static let shared: [TypedClientCase] = {
        guard let folder = SharedData.folder?.path else { return [] }
        let seeds = folder + "/seeds/coreml/", cat = folder + "/images/cat_720p.jpg"
        return [
            picture(
                "ColourNet", seeds + "ColourNet.mlmodel", "ColourNet", "predict", of: seven,
                [
                    Member("output.classLabel", .answered("outputs.classLabel")),
                    Member(
                        "output.classLabelCase!.rawValue", python: "output.classLabelCase.value",
                        .answered("outputs.classLabel")),
                    Member(
                        "output.classLabelProbs[output.classLabel]!",
                        python: "output.classLabelProbs[output.classLabel]", .answered("outputs.classLabelProbs.*")),
                ]),
            TypedClientCase(
                model: "KickStarterMLModel", path: seeds + "KickStarterMLModel.mlmodel", type: "KickStarterMLModel",
                route: "predict", body: #"{"goal": 5000, "backersCount": 120, "duration": 30}"#,
                swift: "goal: 5000, backersCount: 120, duration: 30",
                python: "goal=5000, backersCount=120, duration=30",
                members: [
                    Member("output.prediction", .answered("outputs.prediction")),
                    Member("output.prediction", .text("1")),
                    Member("output.precision[0]!", python: "output.precision[0]", .answered("outputs.precision.0")),
                    Member("output.precision[0]!", python: "output.precision[0]", .text("0.050450260667917024")),
                ]),
            picture(
                "Colorizer", seeds + "Colorizer.mlmodel", "Colorizer", "predict", of: few,
                [bytes("picture", "outputs.picture.b64")]),
            picture(
                "mobilenet_v2_1.0_224_quant", folder + "/models/mobilenet_v2_1.0_224_quant",
                "mobilenet_v2_1_0_224_quant",
                "predict", of: cat, [Member("output.classLabel", .text("Egyptian cat"))], input: "input"),
        ]
    }()
}
