import Foundation
import Inference
import Testing

/// What a TensorFlow graph calls the tensors of its signature is read from any bytes without harm.
@Suite struct SavedModelNamesTests {
    private static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fixtures/tensorio/tensorflow-batch-of-pictures.tiobundle/predict/saved_model.pb")

    @Test func graphsOwnNamesLeadToTheSignaturesKeys() throws {
        let names = SavedModelNames(message: try Data(contentsOf: Self.file))
        #expect(names.inputKey(of: "serving_default_image") == "serving_default_image_key")
        #expect(names.inputKey(of: "serving_default_image:0") == "serving_default_image_key")
        #expect(names.outputKey(of: "dense/Sigmoid") == "dense_key")
        #expect(names.inputKey(of: "dense/Sigmoid") == nil && names.outputKey(of: "dense/Sigmoid:1") == nil)
    }

    @Test func cutAndDamagedFilesHaveFewerNames() throws {
        let whole = try Data(contentsOf: Self.file)
        for count in 0..<whole.count {
            // The signature is at the file's end: no cut has it whole.
            #expect(SavedModelNames(message: whole.prefix(count)).outputKey(of: "dense/Sigmoid") == nil)
        }
        for place in whole.indices {
            var damaged = whole
            damaged[place] ^= 0xFF
            _ = SavedModelNames(message: damaged).outputKey(of: "dense/Sigmoid")
        }
    }

    @Test func numbersAndFixedFieldsArePassedOver() {
        // 1: 300 (varint), 2: eight bytes, 3: "ab", 4: four bytes, 5: "".
        let message: [UInt8] = [
            0x08, 0xAC, 0x02, 0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x1A, 2, 0x61, 0x62, 0x25, 1, 2, 3, 4, 0x2A, 0,
        ]
        let fields = ProtobufFields(Data(message)).map { ($0.number, String(decoding: $0.content, as: UTF8.self)) }
        #expect(fields.map(\.0) == [3, 5] && fields.map(\.1) == ["ab", ""])
        // A length past the end, a group, a number that never ends.
        for message in [[0x0A, 5, 1], [0x0B], [UInt8](repeating: 0xFF, count: 20)] as [[UInt8]] {
            #expect(ProtobufFields(Data(message)).map(\.number).isEmpty)
        }
    }
}
