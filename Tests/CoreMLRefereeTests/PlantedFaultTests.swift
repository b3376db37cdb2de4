import CoreMLReferee
import FileFormats
import Foundation
import TestSupport
import Testing

/// Engines with one fault each: the importer with a changed number of the file, or with changed answers. The referee
/// has the right file and must notice.
@Suite struct PlantedFaultTests {
    /// The fixtures with the paths of their 64-bit numbers (Model.proto and its parts).
    private static let doubles: [(String, [Int])] = [
        // Thresholds and the values of leaves.
        ("decision_tree_classifier_2", [402, 1, 1, 11]), ("decision_tree_classifier_3", [402, 1, 1, 11]),
        ("random_forest_classifier_3", [402, 1, 1, 20, 2]), ("decision_tree_regressor", [302, 1, 1, 11]),
        ("decision_tree_regressor", [302, 1, 1, 20, 2]), ("random_forest_classifier_2", [402, 1, 1, 11]),
        ("gradient_boosting_classifier_3", [402, 1, 1, 20, 2]), ("gradient_boosting_regressor", [302, 1, 1, 11]),
        ("gradient_boosting_regressor", [302, 1, 3]), ("tree_comparisons", [302, 1, 1, 11]),
        // Weights and offsets.
        ("glm_classifier_multinomial", [400, 1, 1]), ("glm_classifier_multinomial", [400, 2]),
        ("glm_classifier_ovr", [400, 1, 1]), ("glm_classifier_probit", [400, 2]),
        ("glm_regressor_transform2", [300, 1, 1]), ("glm_classifier_strings", [200, 1, 1, 400, 1, 1]),
        // Kernels, support vectors, coefficients, rho, Platt's numbers.
        ("svc_rbf_3", [401, 1, 2, 1]), ("svc_rbf_3", [401, 5, 1]), ("svc_poly_3", [401, 1, 3, 3]),
        ("svc_sigmoid_3", [401, 6]), ("svc_linear_3", [401, 7]), ("svc_linear_3", [401, 8]),
        ("svr_sparse", [301, 2, 1, 1, 2]),
        ("svr_rbf", [301, 3, 1, 1]), ("svr_poly", [301, 4, 1]), ("svr_sigmoid", [301, 5]),
        // Preparation.
        ("scaler", [604, 1]), ("scaler", [604, 2]), ("imputer", [601, 4, 1]), ("imputer", [601, 11]),
    ]

    @Test("a changed number of an engine's model is found", arguments: doubles)
    func changedNumbers(_ name: String, _ path: [Int]) throws {
        let file = try RefereeFile(name), places = try file.places(path, width: 8)
        try #require(!places.isEmpty)
        for (index, place) in places.enumerated() {
            let changed = file.replacing(at: place) { (value: Double) in value + max(0.05, abs(value) / 4) }
            #expect(try trial(file, changed).difference != nil, "number \(index) of \(places.count)")
        }
    }

    /// A sample amid others of its class changes nothing: a few changes may stay unnoticed.
    @Test("a changed sample of an engine's neighbors is found for 19 of 20 numbers")
    func changedSamples() throws {
        let file = try RefereeFile("knn_distance"), places = try file.places([404, 1, 2, 1], width: 4)
        try #require(places.count == 120)
        let found = try places.count { place in
            try trial(file, file.replacing(at: place) { (value: Float) in value + 0.5 }).difference != nil
        }
        #expect(found >= 114)
    }

    /// Each comparison with each other one, in the tree of the fixture that has it.
    @Test("an exchanged comparison of a tree is found")
    func exchangedComparisons() throws {
        let file = try RefereeFile("tree_comparisons"), places = try file.places([302, 1, 1, 3], width: 1)
        let branches = places.filter { file.bytes[$0] != 6 }
        try #require(branches.map { file.bytes[$0] } == [1, 2, 3, 4, 5])
        for place in branches {
            for other in UInt8(0)...5 where other != file.bytes[place] {
                let result = try trial(file, file.replacing(at: place) { (_: UInt8) in other })
                #expect(result.difference != nil, "\(file.bytes[place]) computed as \(other)")
            }
        }
    }

    @Test(
        "another order of an engine's classes is found",
        arguments: ["svc_rbf_3", "tree_transform_softmax", "glm_classifier_strings", "knn_distance", "pipeline_scikit"])
    func exchangedClasses(_ name: String) throws {
        let file = try RefereeFile(name), importer = try ImporterAnswers(file.bytes)
        let referee = try file.referee
        func trial(_ change: ([(label: String, value: Double)]) -> [(label: String, value: Double)]) -> TrialResult {
            TrialResult(referee, seed: 1) { row in
                try importer(row).mapValues { answer in
                    guard case .dictionary(let entries) = answer else { return answer }
                    return .dictionary(change(entries))
                }
            }
        }
        func moved<T>(_ list: [T]) -> [T] { Array(list.dropFirst() + list.prefix(1)) }
        let values = trial { Array(zip($0.map(\.label), moved($0.map(\.value)))) }
        #expect(values.difference?.contains("instead of") ?? false)
        let labels = trial { Array(zip(moved($0.map(\.label)), $0.map(\.value))) }
        #expect(labels.difference?.contains("instead of") ?? false)
        // The order of the entries has no meaning.
        #expect(trial { $0.reversed() }.difference == nil)
    }

    @Test("an engine that always predicts the same class, or no numbers, or other outputs, is found")
    func deafEngines() throws {
        let file = try RefereeFile("random_forest_classifier_3"), importer = try ImporterAnswers(file.bytes)
        let referee = try file.referee
        for (what, engine): (String, (RefereeRow) throws -> [String: FeatureAnswer]) in [
            ("always one class", { row in try importer(row).merging(["class": .integer(2)]) { $1 } }),
            ("strings", { row in try importer(row).merging(["class": .text("2")]) { $1 } }),
            (
                "NaN",
                { row in
                    try importer(row).merging([
                        "classProbability": .dictionary([("0", .nan), ("1", .nan), ("2", .nan)])
                    ]) { $1 }
                }
            ),
            (
                "one class fewer",
                { row in
                    try importer(row).merging(["classProbability": .dictionary([("0", 1), ("1", 0)])]) { $1 }
                }
            ),
            ("no probabilities", { row in try importer(row).filter { $0.key == "class" } }),
            (
                "the answer to another row",
                { _ in
                    try importer(["features": .array([Number(0.5), Number(0.25), Number(-1)])])
                }
            ),
            ("errors", { _ in throw RowProblem.unjudged("always") }),
        ] {
            #expect(TrialResult(referee, seed: 1, engine).difference != nil, "\(what)")
        }
    }

    @Test("an engine that answers for a category that the file refuses is found")
    func unknownCategories() throws {
        let file = try RefereeFile("one_hot_error"), importer = try ImporterAnswers(file.bytes)
        let result = TrialResult(try file.referee, seed: 1) { row in
            (try? importer(row)) ?? ["y": .array([0, 0, 0])]
        }
        #expect(result.difference == "answers, but \"no such category\" is a category that the file does not know")
    }

    private func trial(_ file: RefereeFile, _ changed: [UInt8]) throws -> TrialResult {
        let importer = try ImporterAnswers(changed)
        return TrialResult(try file.referee, seed: 2_026) { try importer($0) }
    }
}
