internal import EngineOpenVINO
import FileFormats
import Foundation
import Inference
import TestSupport
import Testing

/// The tensor names in a TensorFlow graph's signature are read from arbitrary bytes without a crash.
@Suite struct SavedModelNamesTests {
    private static let file = SharedData.packageRoot.appendingPathComponent(
        "Tests/Fixtures/tensorio/tensorflow-batch-of-pictures.tiobundle/predict/saved_model.pb")

    @Test("the graph's own tensor names of a SavedModel lead to the keys of the signature")
    func graphsOwnNamesLeadToTheSignaturesKeys() throws {
        let names = SavedModelNames(ByteSource([UInt8](try Data(contentsOf: Self.file))))
        #expect(names.inputKey(of: "serving_default_image") == "serving_default_image_key")
        #expect(names.inputKey(of: "serving_default_image:0") == "serving_default_image_key")
        #expect(names.outputKey(of: "dense/Sigmoid") == "dense_key")
        #expect(names.inputKey(of: "dense/Sigmoid") == nil && names.outputKey(of: "dense/Sigmoid:1") == nil)
    }

    @Test("a cut SavedModel or a damaged tensor name gives no key, and other damage does not crash the reader")
    func cutAndDamagedFilesHaveFewerNames() throws {
        let whole = [UInt8](try Data(contentsOf: Self.file))
        for count in 0..<whole.count {
            // The signature is at the end of the file, so no truncated file contains it completely.
            #expect(SavedModelNames(ByteSource(Array(whole.prefix(count)))).outputKey(of: "dense/Sigmoid") == nil)
        }
        // The graph names its nodes without the colon, so the only occurrence is in the signature.
        let name = Array("dense/Sigmoid:0".utf8)
        let start = try #require(whole.indices.first { whole[$0...].starts(with: name) })
        for place in whole.indices {
            var damaged = whole
            damaged[place] ^= 0xFF
            let key = SavedModelNames(ByteSource(damaged)).outputKey(of: "dense/Sigmoid")
            if (start..<start + name.count).contains(place) { #expect(key == nil, "byte \(place)") }
        }
    }
}
