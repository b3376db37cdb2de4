internal import JSON

/// A tensor to write to a safetensors file.
package struct NamedTensor: Sendable {
    package let name: String
    /// The name of the type in the file, such as `F32`.
    package let typeName: String
    package let shape: [Int]
    /// The numbers, little-endian, in row-major order.
    package let bytes: [UInt8]

    /// A tensor of 32-bit floats.
    package init(_ name: String, _ shape: [Int], _ values: [Float]) {
        (self.name, typeName, self.shape) = (name, "F32", shape)
        bytes = Self.bytes(values.count) { values[$0].bitPattern }
    }

    /// A tensor of 32-bit integers.
    package init(_ name: String, _ shape: [Int], _ values: [Int32]) {
        (self.name, typeName, self.shape) = (name, "I32", shape)
        bytes = Self.bytes(values.count) { UInt32(bitPattern: values[$0]) }
    }

    /// A tensor of 64-bit floats.
    package init(_ name: String, _ shape: [Int], _ values: [Double]) {
        (self.name, typeName, self.shape) = (name, "F64", shape)
        bytes = Self.bytes(2 * values.count) {
            UInt32(truncatingIfNeeded: values[$0 / 2].bitPattern >> ($0 % 2 == 0 ? 0 : 32))
        }
    }

    /// A tensor of 16-bit integers, as their bytes, little-endian.
    package init(_ name: String, _ shape: [Int], shorts: [UInt8]) {
        (self.name, typeName, self.shape, bytes) = (name, "I16", shape, shorts)
    }

    /// Little-endian words, without intermediate arrays: there may be a hundred million.
    private static func bytes(_ count: Int, _ word: (Int) -> UInt32) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 4 * count) { buffer, filled in
            for index in 0..<count {
                let value = word(index)
                for byte in 0..<4 {
                    buffer.initializeElement(
                        at: 4 * index + byte, to: UInt8(truncatingIfNeeded: value >> UInt32(8 * byte)))
                }
            }
            filled = 4 * count
        }
    }
}

extension SafeTensorsFile {
    /// The bytes of a file with these tensors and metadata.
    package static func bytes(_ tensors: [NamedTensor], metadata: [(name: String, text: String)]) -> [UInt8] {
        var header = JSONWriter()
        header.object { header in
            header.key("__metadata__")
            header.object { for (name, text) in metadata { $0.member(name, text) } }
            var start = 0
            for tensor in tensors {
                header.key(tensor.name)
                header.object { entry in
                    entry.member("dtype", tensor.typeName)
                    entry.key("shape")
                    entry.array { for extent in tensor.shape { $0.integer(extent) } }
                    entry.key("data_offsets")
                    entry.array {
                        $0.integer(start)
                        $0.integer(start + tensor.bytes.count)
                    }
                }
                start += tensor.bytes.count
            }
        }
        // The numbers are aligned to 8 bytes.
        let spaces = [UInt8](repeating: UInt8(ascii: " "), count: (8 - header.bytes.count % 8) % 8)
        let length = UInt64(header.bytes.count + spaces.count)
        return withUnsafeBytes(of: length.littleEndian, Array.init) + header.bytes + spaces + tensors.flatMap(\.bytes)
    }
}
