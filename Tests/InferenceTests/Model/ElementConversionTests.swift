import Inference
import Testing

@Suite struct ElementConversionTests {
    private func roundTrip(_ value: Double, _ type: ElementType) -> Double {
        withUnsafeTemporaryAllocation(byteCount: 8, alignment: 8) { memory in
            ElementConversion.write(value, at: 0, as: type, to: memory)
            var result = Double.nan
            ElementConversion.read(UnsafeRawBufferPointer(rebasing: memory[..<type.byteCount]), as: type) { _, read in
                result = read
            }
            return result
        }
    }

    @Test("conversion to integers rounds halves away from zero, clamps to the range and maps NaN to 0")
    func integersAreRoundedAwayFromZeroAndClamped() {
        #expect(roundTrip(0.5, .uint8) == 1)
        #expect(roundTrip(-0.5, .int8) == -1)
        #expect(roundTrip(300, .uint8) == 255)
        #expect(roundTrip(-1, .uint8) == 0)
        #expect(roundTrip(-200, .int8) == -128)
        #expect(roundTrip(.infinity, .int32) == 2_147_483_647)
        #expect(roundTrip(-.infinity, .int64) == Double(Int64.min))
        #expect(roundTrip(.nan, .uint8) == 0)
        #expect(roundTrip(2, .bool) == 1)
    }

    @Test("every 16-bit float survives the conversion to a 32-bit float and back")
    func everyHalfSurvives() {
        for bits in UInt16.min...UInt16.max {
            let value = ElementConversion.float(fromHalf: bits)
            if value.isNaN {
                #expect(ElementConversion.float(fromHalf: ElementConversion.half(from: value)).isNaN)
            } else if ElementConversion.half(from: value) != bits {
                Issue.record("\(bits) became \(value) and \(ElementConversion.half(from: value))")
            }
        }
    }

    @Test("conversion to a 16-bit float rounds to nearest even and overflows to infinity")
    func halvesRoundToNearestEven() {
        #expect(ElementConversion.half(from: 1) == 0x3C00)
        #expect(ElementConversion.half(from: 65504) == 0x7BFF)
        #expect(ElementConversion.half(from: 65519.996) == 0x7BFF)
        #expect(ElementConversion.half(from: 65520) == 0x7C00)
        #expect(ElementConversion.half(from: 1e9) == 0x7C00)
        // 1 + 2^-11 is half-way between 1 and the next half: the even one is 1.
        #expect(ElementConversion.half(from: 1 + 0x1p-11) == 0x3C00)
        #expect(ElementConversion.half(from: 1 + 3 * 0x1p-11) == 0x3C02)
        #expect(ElementConversion.half(from: 0x1p-24) == 1)
        #expect(ElementConversion.half(from: 0x1p-26) == 0)
        #expect(ElementConversion.half(from: -2) == 0xC000)
    }

    @Test("conversion to bfloat16 rounds to nearest even and keeps infinity and NaN")
    func brainFloatsRoundToNearestEven() {
        #expect(roundTrip(1, .bfloat16) == 1)
        #expect(roundTrip(1 + 0x1p-8, .bfloat16) == 1)
        #expect(roundTrip(1 + 3 * 0x1p-8, .bfloat16) == 1 + 0x1p-6)
        #expect(roundTrip(-(1 + 0x1p-8 + 0x1p-20), .bfloat16) == -(1 + 0x1p-7))
        #expect(roundTrip(Double(Float.greatestFiniteMagnitude), .bfloat16) == .infinity)
        #expect(roundTrip(-.infinity, .bfloat16) == -.infinity)
        // A NaN with all its mantissa bits in the half that is dropped.
        #expect(roundTrip(Double(Float(bitPattern: 0x7F80_0001)), .bfloat16).isNaN)
        #expect(roundTrip(.nan, .bfloat16).isNaN)
    }

    @Test("a write at an index outside the buffer changes no byte")
    func nothingIsWrittenOutside() {
        withUnsafeTemporaryAllocation(byteCount: 8, alignment: 8) { memory in
            for index in memory.indices { memory[index] = 0xAA }
            let part = UnsafeMutableRawBufferPointer(rebasing: memory[..<4])
            for index in [1, 2, Int.max, -1] { ElementConversion.write(1, at: index, as: .float32, to: part) }
            #expect(memory.allSatisfy { $0 == 0xAA })
        }
    }
}
