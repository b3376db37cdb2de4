import Foundation
import TestSupport
import Testing

/// The cases of `things/cases.json`, with a bundle made for each.
struct ObservationCases {
    let names: [String]
    let models: URL
    private let cases: [String: [String: Any]]
    private static let folder = SharedData.folder?.appendingPathComponent("things") ?? URL(fileURLWithPath: "/")

    struct Picture {
        let name: String
        let width: Int, height: Int
        let must: [[String: Any]], may: [[String: Any]]
        let rectangles: [String: [Int]]
        let shares: [String: Double]
        let points: [(x: Double, y: Double, confidence: Double)?]
        let normalised: [Double]
    }

    struct Case {
        let name: String, bundle: String, kind: String
        let threshold: Double
        let tolerance: [String: Double]
        let labels: [String]
        let pictures: [Picture]
        let cosines: [(String, String, Double)]

        func path(_ picture: String) -> String {
            let shared = "shared:"
            if picture.hasPrefix(shared) {
                return folder.deletingLastPathComponent().appendingPathComponent(
                    String(picture.dropFirst(shared.count))
                )
                .path
            }
            return folder.appendingPathComponent("pictures/\(picture)").path
        }
    }

    /// The outputs of each case in model.json.
    private static let outputs: [String: String] = [
        "yolox_nano": #"{"name": "output", "type": "boxes", "layout": "yolox", "threshold": 0.4}"#,
        "ultraface":
            #"{"name": "faces", "type": "boxes", "layout": "corners", "background": "first", "threshold": 0.7, "iou": 0.3, "tensors": {"boxes": "boxes", "scores": "scores"}}"#,
        "ssd_mobilenet_v1":
            #"{"name": "things", "type": "boxes", "layout": "tflite-detection", "threshold": 0.45, "tensors": {"boxes": "TFLite_Detection_PostProcess", "classes": "TFLite_Detection_PostProcess:1", "scores": "TFLite_Detection_PostProcess:2", "count": "TFLite_Detection_PostProcess:3"}}"#,
        "deeplabv3": #"{"name": "scores", "type": "mask"}"#,
        "movenet": #"{"name": "points", "type": "keypoints", "points": 17}"#,
        "embedder": #"{"name": "vector", "type": "embedding"}"#,
        "synthetic/yolov8": #"{"name": "output0", "type": "boxes", "layout": "yolov8"}"#,
        "synthetic/end2end": #"{"name": "output0", "type": "boxes", "layout": "yolo-end-to-end"}"#,
        "synthetic/postprocess":
            #"{"name": "things", "type": "boxes", "layout": "tflite-detection", "threshold": 0.3, "tensors": {"boxes": "detection_boxes", "classes": "detection_classes", "scores": "detection_scores", "count": "num_detections"}}"#,
        "synthetic/mask_softmax": #"{"name": "logits", "type": "mask"}"#,
        "synthetic/heatmaps":
            #"{"name": "heatmaps", "type": "keypoints", "layout": "heatmaps", "threshold": 0.3, "names": ["red", "green", "blue"]}"#,
        "synthetic/embedding": #"{"name": "embedding", "type": "embedding"}"#,
    ]

    init(only: Set<String>? = nil) throws {
        let text = try Data(contentsOf: Self.folder.appendingPathComponent("cases.json"))
        cases = try #require(try JSONSerialization.jsonObject(with: text) as? [String: [String: Any]])
        names = cases.keys.filter { Self.outputs[$0] != nil && only?.contains($0) ?? true }.sorted()
        models = FileManager.default.temporaryDirectory.appendingPathComponent("things-\(UUID().uuidString)")
        for name in names { try writeBundle(name) }
    }

    func remove() { try? FileManager.default.removeItem(at: models) }

    private static func bundle(_ name: String) -> String { name.replacingOccurrences(of: "/", with: "-") }

    private func writeBundle(_ name: String) throws {
        let one = try #require(cases[name]), input = try #require(one["input"] as? [String: Any])
        let model = try #require(one["model"] as? String), width = input["width"] as? Int ?? 0
        let folder = models.appendingPathComponent(Self.bundle(name))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = String(model.split(separator: "/").last ?? "")
        try FileManager.default.copyItem(
            at: Self.folder.appendingPathComponent(model), to: folder.appendingPathComponent(file))
        let fit = input["fit"] as? String ?? ""
        var image: [String: Any] = [
            "name": name == "ultraface" ? "input" : "images", "type": "image",
            "shape": [input["height"] as? Int ?? 0, width, 3],
            "format": input["format"] as? String ?? "RGB", "layout": input["layout"] as? String ?? "NHWC",
            "crop_and_scale": fit == "stretch" ? "fill" : fit == "center" ? "center" : "fit",
        ]
        if fit.hasPrefix("letterbox") {
            let gray = input["pad"] as? Int ?? 0
            image["fill_color"] = String(format: "#%02x%02x%02x", gray, gray, gray)
            image["centering"] = "floor"
            if fit == "letterbox-topleft" { image["fit_alignment"] = "top_left" }
        }
        if let mean = input["mean"] {
            image["normalize"] = ["mean": mean, "std": input["std"] ?? [1, 1, 1], "scale": input["scale"] ?? 1]
        } else if let scale = input["scale"] {
            image["normalize"] = ["scale": scale]
        }
        var output = try #require(
            try JSONSerialization.jsonObject(with: Data((Self.outputs[name] ?? "").utf8)) as? [String: Any])
        if let labels = one["labels"] as? [String], ["boxes", "mask"].contains(output["type"] as? String) {
            try labels.joined(separator: "\n").write(
                to: folder.appendingPathComponent("labels.txt"), atomically: true, encoding: .utf8)
            output["labels"] = "labels.txt"
        }
        let manifest: [String: Any] = [
            "name": name, "id": name, "version": "1", "model": ["file": file], "inputs": [image], "outputs": [output],
        ]
        try JSONSerialization.data(withJSONObject: manifest).write(to: folder.appendingPathComponent("model.json"))
    }

    func `case`(_ name: String) throws -> Case {
        let one = try #require(cases[name])
        let pictures = try #require(one["pictures"] as? [[String: Any]]).map { picture in
            let points = (picture["points"] as? [Any] ?? []).map {
                point -> (x: Double, y: Double, confidence: Double)? in
                if let numbers = point as? [Double] { return (numbers[0], numbers[1], numbers[2]) }
                guard let point = point as? [String: Any], let x = point["x"] as? Double, let y = point["y"] as? Double
                else { return nil }
                return (x, y, point["confidence"] as? Double ?? 0)
            }
            return Picture(
                name: picture["picture"] as? String ?? "", width: picture["width"] as? Int ?? 0,
                height: picture["height"] as? Int ?? 0, must: picture["must"] as? [[String: Any]] ?? [],
                may: picture["may"] as? [[String: Any]] ?? [],
                rectangles: picture["rectangles"] as? [String: [Int]] ?? [:],
                shares: picture["shares"] as? [String: Double] ?? [:], points: points,
                normalised: picture["normalised"] as? [Double] ?? [])
        }
        let cosines = (one["cosines"] as? [[Any]] ?? []).compactMap { entry -> (String, String, Double)? in
            guard let first = entry[0] as? String, let second = entry[1] as? String, let value = entry[2] as? Double
            else { return nil }
            return (first, second, value)
        }
        return Case(
            name: name, bundle: Self.bundle(name), kind: one["kind"] as? String ?? "",
            threshold: (one["decode"] as? [String: Any])?["threshold"] as? Double ?? 0,
            tolerance: (one["tolerance"] as? [String: Any] ?? [:]).compactMapValues { $0 as? Double },
            labels: one["labels"] as? [String] ?? [], pictures: pictures, cosines: cosines)
    }
}
