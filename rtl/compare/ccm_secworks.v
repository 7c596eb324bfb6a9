// CCM (RFC 3610) around one aes_core of secworks/aes, without 802.11: CTR and CBC-MAC of each block in sequence. Only for
// measurements beside ccmp_core: the user provides B0, counters and complete blocks.
`default_nettype none

module ccm_secworks (
    input wire clk,
    input wire reset,

    input wire         key_valid,  // expand it
    input wire [255:0] key,
    input wire         key_long,

    input wire         start,   // a message
    input wire [127:0] b0,
    input wire [127:0] nonce,   // counter block 0

    input  wire         s_valid,
    output wire         s_ready,
    input  wire [127:0] s_block,
    input  wire         s_aad,
    input  wire         s_last,
    input  wire         s_open,

    output reg         m_valid,
    output reg [127:0] m_block,
    output reg         mic_valid,
    output reg [ 63:0] mic
);

  localparam IDLE = 0, KEY = 1, FIRST = 2, TAKE = 3, CTR = 4, MAC = 5, LAST = 6;

  reg [6:0] state;  // one-hot
  reg init, next, busy;
  reg [127:0] chain, block, text, counters;
  reg [15:0] counter;
  reg last, open;
  wire ready;
  wire result_valid_unused;
  wire [127:0] result;
  wire done = busy && ready && !next && !init;

  assign s_ready = state[TAKE];

  aes_core core (
      .clk(clk),
      .reset_n(!reset),
      .encdec(1'b1),
      .init(init),
      .next(next),
      .ready(ready),
      .key(key),
      .keylen(key_long),
      .block(block),
      .result(result),
      .result_valid(result_valid_unused)
  );

  always @(posedge clk) begin
    {init, next, m_valid, mic_valid} <= 4'b0000;
    busy <= init || next || (busy && !done);
    if (state[IDLE] && key_valid) begin
      init <= 1'b1;
      state <= 1 << KEY;
    end else if (state[IDLE] && start) begin
      {block, counters, counter} <= {b0, nonce, 16'd1};
      next <= 1'b1;
      state <= 1 << FIRST;
    end
    if (state[KEY] && done) state <= 1 << IDLE;
    if (state[FIRST] && done) begin
      chain <= result;
      state <= 1 << TAKE;
    end
    if (state[TAKE] && s_valid) begin
      {text, last, open} <= {s_block, s_last, s_open};
      block <= s_aad ? chain ^ s_block : {counters[127:16], counter};
      if (!s_aad) counter <= counter + 16'd1;
      next <= 1'b1;
      state <= s_aad ? 1 << MAC : 1 << CTR;
    end
    if (state[CTR] && done) begin
      m_block <= text ^ result;
      m_valid <= 1'b1;
      block <= chain ^ (open ? text ^ result : text);
      next <= 1'b1;
      state <= 1 << MAC;
    end
    if (state[MAC] && done) begin
      chain <= result;
      block <= {counters[127:16], 16'd0};
      next <= last;
      state <= last ? 1 << LAST : 1 << TAKE;
    end
    if (state[LAST] && done) begin
      mic <= chain[127:64] ^ result[127:64];
      mic_valid <= 1'b1;
      state <= 1 << IDLE;
    end
    if (reset) begin
      {init, next, busy} <= 3'b000;
      state <= 1 << IDLE;
    end
  end

endmodule

`default_nettype wire
