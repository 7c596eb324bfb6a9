// SubBytes of AES for one octet as the table of FIPS 197, Figure 7. Replaces the library's module.
//
// For designs with many S-boxes in one cycle, such as ccm_lanes, simulators take minutes to build the library's gates.
// rtl/formal proves that the gates are equal to this table.
`default_nettype none

module aes_sbox (
    input  wire [7:0] octet,
    output reg  [7:0] substitute
);

  always @*
    case (octet)
      8'h00: substitute = 8'h63; 8'h01: substitute = 8'h7c; 8'h02: substitute = 8'h77; 8'h03: substitute = 8'h7b;
      8'h04: substitute = 8'hf2; 8'h05: substitute = 8'h6b; 8'h06: substitute = 8'h6f; 8'h07: substitute = 8'hc5;
      8'h08: substitute = 8'h30; 8'h09: substitute = 8'h01; 8'h0a: substitute = 8'h67; 8'h0b: substitute = 8'h2b;
      8'h0c: substitute = 8'hfe; 8'h0d: substitute = 8'hd7; 8'h0e: substitute = 8'hab; 8'h0f: substitute = 8'h76;
      8'h10: substitute = 8'hca; 8'h11: substitute = 8'h82; 8'h12: substitute = 8'hc9; 8'h13: substitute = 8'h7d;
      8'h14: substitute = 8'hfa; 8'h15: substitute = 8'h59; 8'h16: substitute = 8'h47; 8'h17: substitute = 8'hf0;
      8'h18: substitute = 8'had; 8'h19: substitute = 8'hd4; 8'h1a: substitute = 8'ha2; 8'h1b: substitute = 8'haf;
      8'h1c: substitute = 8'h9c; 8'h1d: substitute = 8'ha4; 8'h1e: substitute = 8'h72; 8'h1f: substitute = 8'hc0;
      8'h20: substitute = 8'hb7; 8'h21: substitute = 8'hfd; 8'h22: substitute = 8'h93; 8'h23: substitute = 8'h26;
      8'h24: substitute = 8'h36; 8'h25: substitute = 8'h3f; 8'h26: substitute = 8'hf7; 8'h27: substitute = 8'hcc;
      8'h28: substitute = 8'h34; 8'h29: substitute = 8'ha5; 8'h2a: substitute = 8'he5; 8'h2b: substitute = 8'hf1;
      8'h2c: substitute = 8'h71; 8'h2d: substitute = 8'hd8; 8'h2e: substitute = 8'h31; 8'h2f: substitute = 8'h15;
      8'h30: substitute = 8'h04; 8'h31: substitute = 8'hc7; 8'h32: substitute = 8'h23; 8'h33: substitute = 8'hc3;
      8'h34: substitute = 8'h18; 8'h35: substitute = 8'h96; 8'h36: substitute = 8'h05; 8'h37: substitute = 8'h9a;
      8'h38: substitute = 8'h07; 8'h39: substitute = 8'h12; 8'h3a: substitute = 8'h80; 8'h3b: substitute = 8'he2;
      8'h3c: substitute = 8'heb; 8'h3d: substitute = 8'h27; 8'h3e: substitute = 8'hb2; 8'h3f: substitute = 8'h75;
      8'h40: substitute = 8'h09; 8'h41: substitute = 8'h83; 8'h42: substitute = 8'h2c; 8'h43: substitute = 8'h1a;
      8'h44: substitute = 8'h1b; 8'h45: substitute = 8'h6e; 8'h46: substitute = 8'h5a; 8'h47: substitute = 8'ha0;
      8'h48: substitute = 8'h52; 8'h49: substitute = 8'h3b; 8'h4a: substitute = 8'hd6; 8'h4b: substitute = 8'hb3;
      8'h4c: substitute = 8'h29; 8'h4d: substitute = 8'he3; 8'h4e: substitute = 8'h2f; 8'h4f: substitute = 8'h84;
      8'h50: substitute = 8'h53; 8'h51: substitute = 8'hd1; 8'h52: substitute = 8'h00; 8'h53: substitute = 8'hed;
      8'h54: substitute = 8'h20; 8'h55: substitute = 8'hfc; 8'h56: substitute = 8'hb1; 8'h57: substitute = 8'h5b;
      8'h58: substitute = 8'h6a; 8'h59: substitute = 8'hcb; 8'h5a: substitute = 8'hbe; 8'h5b: substitute = 8'h39;
      8'h5c: substitute = 8'h4a; 8'h5d: substitute = 8'h4c; 8'h5e: substitute = 8'h58; 8'h5f: substitute = 8'hcf;
      8'h60: substitute = 8'hd0; 8'h61: substitute = 8'hef; 8'h62: substitute = 8'haa; 8'h63: substitute = 8'hfb;
      8'h64: substitute = 8'h43; 8'h65: substitute = 8'h4d; 8'h66: substitute = 8'h33; 8'h67: substitute = 8'h85;
      8'h68: substitute = 8'h45; 8'h69: substitute = 8'hf9; 8'h6a: substitute = 8'h02; 8'h6b: substitute = 8'h7f;
      8'h6c: substitute = 8'h50; 8'h6d: substitute = 8'h3c; 8'h6e: substitute = 8'h9f; 8'h6f: substitute = 8'ha8;
      8'h70: substitute = 8'h51; 8'h71: substitute = 8'ha3; 8'h72: substitute = 8'h40; 8'h73: substitute = 8'h8f;
      8'h74: substitute = 8'h92; 8'h75: substitute = 8'h9d; 8'h76: substitute = 8'h38; 8'h77: substitute = 8'hf5;
      8'h78: substitute = 8'hbc; 8'h79: substitute = 8'hb6; 8'h7a: substitute = 8'hda; 8'h7b: substitute = 8'h21;
      8'h7c: substitute = 8'h10; 8'h7d: substitute = 8'hff; 8'h7e: substitute = 8'hf3; 8'h7f: substitute = 8'hd2;
      8'h80: substitute = 8'hcd; 8'h81: substitute = 8'h0c; 8'h82: substitute = 8'h13; 8'h83: substitute = 8'hec;
      8'h84: substitute = 8'h5f; 8'h85: substitute = 8'h97; 8'h86: substitute = 8'h44; 8'h87: substitute = 8'h17;
      8'h88: substitute = 8'hc4; 8'h89: substitute = 8'ha7; 8'h8a: substitute = 8'h7e; 8'h8b: substitute = 8'h3d;
      8'h8c: substitute = 8'h64; 8'h8d: substitute = 8'h5d; 8'h8e: substitute = 8'h19; 8'h8f: substitute = 8'h73;
      8'h90: substitute = 8'h60; 8'h91: substitute = 8'h81; 8'h92: substitute = 8'h4f; 8'h93: substitute = 8'hdc;
      8'h94: substitute = 8'h22; 8'h95: substitute = 8'h2a; 8'h96: substitute = 8'h90; 8'h97: substitute = 8'h88;
      8'h98: substitute = 8'h46; 8'h99: substitute = 8'hee; 8'h9a: substitute = 8'hb8; 8'h9b: substitute = 8'h14;
      8'h9c: substitute = 8'hde; 8'h9d: substitute = 8'h5e; 8'h9e: substitute = 8'h0b; 8'h9f: substitute = 8'hdb;
      8'ha0: substitute = 8'he0; 8'ha1: substitute = 8'h32; 8'ha2: substitute = 8'h3a; 8'ha3: substitute = 8'h0a;
      8'ha4: substitute = 8'h49; 8'ha5: substitute = 8'h06; 8'ha6: substitute = 8'h24; 8'ha7: substitute = 8'h5c;
      8'ha8: substitute = 8'hc2; 8'ha9: substitute = 8'hd3; 8'haa: substitute = 8'hac; 8'hab: substitute = 8'h62;
      8'hac: substitute = 8'h91; 8'had: substitute = 8'h95; 8'hae: substitute = 8'he4; 8'haf: substitute = 8'h79;
      8'hb0: substitute = 8'he7; 8'hb1: substitute = 8'hc8; 8'hb2: substitute = 8'h37; 8'hb3: substitute = 8'h6d;
      8'hb4: substitute = 8'h8d; 8'hb5: substitute = 8'hd5; 8'hb6: substitute = 8'h4e; 8'hb7: substitute = 8'ha9;
      8'hb8: substitute = 8'h6c; 8'hb9: substitute = 8'h56; 8'hba: substitute = 8'hf4; 8'hbb: substitute = 8'hea;
      8'hbc: substitute = 8'h65; 8'hbd: substitute = 8'h7a; 8'hbe: substitute = 8'hae; 8'hbf: substitute = 8'h08;
      8'hc0: substitute = 8'hba; 8'hc1: substitute = 8'h78; 8'hc2: substitute = 8'h25; 8'hc3: substitute = 8'h2e;
      8'hc4: substitute = 8'h1c; 8'hc5: substitute = 8'ha6; 8'hc6: substitute = 8'hb4; 8'hc7: substitute = 8'hc6;
      8'hc8: substitute = 8'he8; 8'hc9: substitute = 8'hdd; 8'hca: substitute = 8'h74; 8'hcb: substitute = 8'h1f;
      8'hcc: substitute = 8'h4b; 8'hcd: substitute = 8'hbd; 8'hce: substitute = 8'h8b; 8'hcf: substitute = 8'h8a;
      8'hd0: substitute = 8'h70; 8'hd1: substitute = 8'h3e; 8'hd2: substitute = 8'hb5; 8'hd3: substitute = 8'h66;
      8'hd4: substitute = 8'h48; 8'hd5: substitute = 8'h03; 8'hd6: substitute = 8'hf6; 8'hd7: substitute = 8'h0e;
      8'hd8: substitute = 8'h61; 8'hd9: substitute = 8'h35; 8'hda: substitute = 8'h57; 8'hdb: substitute = 8'hb9;
      8'hdc: substitute = 8'h86; 8'hdd: substitute = 8'hc1; 8'hde: substitute = 8'h1d; 8'hdf: substitute = 8'h9e;
      8'he0: substitute = 8'he1; 8'he1: substitute = 8'hf8; 8'he2: substitute = 8'h98; 8'he3: substitute = 8'h11;
      8'he4: substitute = 8'h69; 8'he5: substitute = 8'hd9; 8'he6: substitute = 8'h8e; 8'he7: substitute = 8'h94;
      8'he8: substitute = 8'h9b; 8'he9: substitute = 8'h1e; 8'hea: substitute = 8'h87; 8'heb: substitute = 8'he9;
      8'hec: substitute = 8'hce; 8'hed: substitute = 8'h55; 8'hee: substitute = 8'h28; 8'hef: substitute = 8'hdf;
      8'hf0: substitute = 8'h8c; 8'hf1: substitute = 8'ha1; 8'hf2: substitute = 8'h89; 8'hf3: substitute = 8'h0d;
      8'hf4: substitute = 8'hbf; 8'hf5: substitute = 8'he6; 8'hf6: substitute = 8'h42; 8'hf7: substitute = 8'h68;
      8'hf8: substitute = 8'h41; 8'hf9: substitute = 8'h99; 8'hfa: substitute = 8'h2d; 8'hfb: substitute = 8'h0f;
      8'hfc: substitute = 8'hb0; 8'hfd: substitute = 8'h54; 8'hfe: substitute = 8'hbb; 8'hff: substitute = 8'h16;
    endcase

endmodule

`default_nettype wire
