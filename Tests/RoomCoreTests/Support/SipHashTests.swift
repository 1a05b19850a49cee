import RoomCore
import Testing

/// SipHash with the test vectors of its authors.
@Suite struct SipHashTests {
    /// The hashes of no bytes, of the byte 0, of the bytes 0 and 1, and so on.
    ///
    /// Source: SipHash's reference implementation, `vectors_sip64`.
    private static let vectors: [UInt64] = [
        0x726F_DB47_DD0E_0E31, 0x74F8_39C5_93DC_67FD, 0x0D6C_8009_D9A9_4F5A, 0x8567_6696_D7FB_7E2D, 0xCF27_94E0_2771_87B7,
        0x1876_5564_CD99_A68D, 0xCBC9_466E_58FE_E3CE, 0xAB02_00F5_8B01_D137, 0x93F5_F579_9A93_2462, 0x9E00_82DF_0BA9_E4B0,
        0x7A5D_BBC5_94DD_B9F3, 0xF4B3_2F46_226B_ADA7, 0x751E_8FBC_860E_E5FB, 0x14EA_5627_C084_3D90, 0xF723_CA90_8E7A_F2EE,
        0xA129_CA61_49BE_45E5,
    ]
    private static let key = Bits128(high: 0x0F0E_0D0C_0B0A_0908, low: 0x0706_0504_0302_0100)

    @Test(arguments: vectors.indices) func `the hash of bytes equals the reference`(count: Int) {
        var hash = SipHash(key: Self.key)
        for byte in 0..<count { hash.combine(UInt8(byte)) }
        #expect(hash.finish() == Self.vectors[count])
    }

    @Test func `a word is hashed as its bytes, lowest first`() {
        var hash = SipHash(key: Self.key)
        hash.combine(0x0706_0504_0302_0100 as UInt64)
        #expect(hash.finish() == Self.vectors[8])
        for byte in 8..<15 { hash.combine(UInt8(byte)) }
        #expect(hash.finish() == Self.vectors[15])
    }
}
